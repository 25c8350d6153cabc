// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"time"

	"certrotation.dev/registry/quorum"
)

// patience bounds how long a change waits for further changes, in multiples of Coalesce.
const patience = 5

// assessSource decides whether to create a revision.
func (a *assessor) assessSource() {
	src, open := &a.state.Source, a.open()
	if src.Problem != "" {
		a.wait("", ReasonSource, time.Time{}, a.state.Limits.StaticPodTimeout, src.Problem)
		return
	}
	if a.latest != nil && a.latest.ContentHash == src.ContentHash {
		a.repair()
		return
	}
	longest := patience * a.state.Limits.Coalesce
	differs := src.Differs
	if differs.IsZero() {
		differs = a.state.Now
	}
	overdue := differs.Add(longest)
	// No restart for content that is about to be replaced; but this wait is limited.
	a.cutting = a.latest != nil && a.latest.RestartHash != src.RestartHash && a.state.Now.Before(overdue)
	if a.cutting {
		a.out.recheck(overdue)
	}
	if src.Waiting != "" {
		a.wait("", ReasonSourceChanging, differs, longest, src.Waiting)
		return
	}
	if quiet := src.Since.Add(a.state.Limits.Coalesce); a.state.Now.Before(quiet) && a.state.Now.Before(overdue) {
		a.out.recheck(earlier(quiet, overdue))
		return
	}
	a.cutting = false
	if !a.mayCut() {
		return
	}
	number, kind := a.newest()+1, CreateRevision
	if open != nil {
		number, kind = open.Number, CompleteRevision
	}
	a.do(Action{Kind: kind, Revision: number, Reason: a.cause()})
}

// mayCut reports whether the quorum permits a revision of the sources. Only a revision that restarts all members
// waits for that. One that brings new leaves to a running member may be what restores the quorum.
func (a *assessor) mayCut() bool {
	if !a.state.Quorum.Configured || !a.restartsAll() || a.founding() {
		return true
	}
	o, ok := a.observation()
	if !ok {
		if a.state.Quorum.Failure != "" {
			a.waitForQuorum("", ReasonQuorum, time.Time{}, quorumPoll, a.state.Quorum.Failure)
		}
		return false
	}
	v := quorum.Assess(a.state.Quorum.Strategy, *o, "")
	if !v.Safe {
		a.waitForQuorum("", ReasonQuorum, time.Time{}, quorumPoll, v.Message)
	}
	return v.Safe
}

// restartsAll reports whether there are members and none runs with the restart hash of the sources.
func (a *assessor) restartsAll() bool {
	running := false
	for _, m := range a.members {
		if m.Pod != nil && m.Pod.RestartHash == a.state.Source.RestartHash {
			return false
		}
		running = running || !m.empty()
	}
	return running
}

// open returns an incomplete revision that is newer than the latest complete one, nil if there is none. Older ones
// are never completed.
func (a *assessor) open() *Revision {
	if len(a.state.Revisions) == 0 {
		return nil
	}
	last := &a.state.Revisions[len(a.state.Revisions)-1]
	if last.Ready {
		return nil
	}
	return last
}

func (a *assessor) newest() int {
	number := 0
	if n := len(a.state.Revisions); n > 0 {
		number = a.state.Revisions[n-1].Number
	}
	// A number is never used twice, even if the revisions were deleted.
	for _, m := range a.members {
		for _, revision := range m.revisions {
			number = max(number, revision)
		}
		number = max(number, m.record.TargetRevision, m.record.CurrentRevision)
	}
	if a.state.Record != nil {
		number = max(number, a.state.Record.LatestAvailableRevision)
	}
	return number
}

// repair restores the copies of the latest revision from unchanged sources.
func (a *assessor) repair() {
	if len(a.latest.Missing) > 0 && a.state.Source.Waiting == "" {
		a.do(Action{Kind: CompleteRevision, Revision: a.latest.Number,
			Reason: "it lacks " + strings.Join(a.latest.Missing, ", ")})
	}
}

func (a *assessor) cause() string {
	switch {
	case len(a.state.Source.Changed) > 0:
		return strings.Join(a.state.Source.Changed, ", ")
	case a.latest == nil:
		return "there is no revision yet"
	}
	return fmt.Sprintf("the content is not that of revision %d", a.latest.Number)
}

func earlier(x, y time.Time) time.Time {
	if x.Before(y) {
		return x
	}
	return y
}
