// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"
)

// Assess decides about a State, which it does not change.
func Assess(s *State) *Assessment {
	a := &assessor{state: s, latest: s.latest(), now: s.Now.Truncate(time.Second), out: &Assessment{}}
	a.members = a.observe()
	if s.Refused != "" {
		a.assessRefused()
		a.assessOutcomes()
	} else {
		a.assessSource()
		a.assessOutcomes()
		a.assessInstallers()
		a.assessPrune()
	}
	a.out.Status = a.status()
	return a.out
}

// assessRefused is for a rollout that no StaticPodClass permits: it starts nothing on a node, and deletes installers
// that have not started. Running pods are left alone.
func (a *assessor) assessRefused() {
	a.wait("", ReasonClass, time.Time{}, 0, a.state.Refused)
	for i := range a.state.Installers {
		if p := &a.state.Installers[i]; !p.Started && !p.Finished && !p.Deleting {
			a.do(Action{Kind: DeleteInstallerPod, Node: p.Node, Revision: p.Revision, Pod: p.Name, Reason: "it has not begun, and is not permitted any more"})
		}
	}
}

// assessor collects the Assessment of one State.
type assessor struct {
	state   *State
	latest  *Revision
	now     time.Time
	members []*member
	// cutting means that a revision which restarts the static pods is about to be created.
	cutting  bool
	blockers []Blocker
	out      *Assessment
}

func (a *assessor) do(action Action) {
	a.out.Actions = append(a.out.Actions, action)
}

// wait adds a blocker. It has existed since the time in the record, or since from; it is overdue when it has existed
// for limit, and the State is assessed again at that time.
func (a *assessor) wait(node string, reason Reason, from time.Time, limit time.Duration, message string) {
	b := Blocker{Node: node, Reason: reason, Message: stable(message), Since: a.since(node, reason, from)}
	due := b.Since.Add(limit)
	b.Overdue = !a.now.Before(due)
	if !b.Overdue {
		a.out.recheck(due)
	}
	for _, other := range a.blockers {
		if other.Node == node && other.Reason == reason {
			return
		}
	}
	a.blockers = append(a.blockers, b)
}

func (a *assessor) since(node string, reason Reason, from time.Time) time.Time {
	if from.IsZero() {
		from = a.now
	}
	if a.state.Record == nil {
		return from.UTC().Truncate(time.Second)
	}
	for _, b := range a.state.Record.Blockers {
		if b.Node == node && b.Reason == reason && b.Since.Before(from) {
			return b.Since
		}
	}
	return from.UTC().Truncate(time.Second)
}
