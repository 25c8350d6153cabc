// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strconv"
	"strings"
	"time"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// progress is what a wait has observed so far. It belongs to the goroutine of the wait.
type progress struct {
	target *target
	begun  time.Time
	// main is the object that the wait is for, nil while it does not exist.
	main *v1alpha1.CertificateRotation
	// leaves of the signer, by name.
	leaves map[string]*v1alpha1.CertificateRotation
	// trouble with the connection since the last event, "" if there is none.
	trouble string
	// synced reports whether the first list is complete. Before that the counts are too low.
	synced bool
	// started reports whether the domain was observed in flight.
	started bool
	// stages in the order of observation, each with the time of its first observation.
	stages []stageStart
}

type stageStart struct {
	stage v1alpha1.Stage
	at    time.Time
}

func newProgress(t *target, before *v1alpha1.CertificateRotation, begun time.Time) *progress {
	p := &progress{target: t, begun: begun, leaves: map[string]*v1alpha1.CertificateRotation{}}
	p.see(before, begun)
	return p
}

// apply records a change. It reports whether the object that the wait is for may have changed.
func (p *progress) apply(c change, now time.Time) bool {
	if c.synced {
		p.synced = true
		return false
	}
	if c.object == nil {
		p.trouble = oneLine(statusText(c.trouble))
		return false
	}
	p.trouble = ""
	o := c.object
	switch {
	case o.Name == p.target.name && c.deleted:
		p.main = nil
	case o.Name == p.target.name:
		p.see(o, now)
		return true
	case o.Spec.Signer != p.target.name || c.deleted:
		delete(p.leaves, o.Name)
	default:
		p.leaves[o.Name] = o
	}
	return false
}

func (p *progress) see(o *v1alpha1.CertificateRotation, now time.Time) {
	p.main = o
	stage := o.Status.Stage
	p.started = p.started || stage != v1alpha1.StageStable
	if n := len(p.stages); n == 0 || p.stages[n-1].stage != stage {
		p.stages = append(p.stages, stageStart{stage, now})
	}
}

// stageSince is when the current stage was first observed.
func (p *progress) stageSince() time.Time { return p.stages[len(p.stages)-1].at }

// moved counts the leaves that the newest CA of the signer has signed.
func (p *progress) moved() int {
	newest := fingerprint(p.main)
	if p.main.Status.Next != nil {
		newest = p.main.Status.Next.Fingerprint
	}
	n := 0
	for _, leaf := range p.leaves {
		if c := leaf.Status.Certificate; c != nil && c.SignedBy == newest {
			n++
		}
	}
	return n
}

// facts are short statements about the current state, without stage and blockers.
func (p *progress) facts() []string {
	if p.main == nil {
		return []string{"does not exist now"}
	}
	s := &p.main.Status
	var out []string
	if !p.started && progressing(p.main) {
		out = append(out, "is yet to begin")
	}
	out = append(out, "trusted "+fraction(int(s.Trust.Trusted), int(s.Trust.Total)))
	if len(p.leaves) > 0 && s.Stage != v1alpha1.StageStable {
		out = append(out, "leaves moved "+fraction(p.moved(), len(p.leaves)))
	}
	if h := health(s.Conditions); !h.Ready && h.Message != "" {
		out = append(out, "not ready: "+oneLine(h.Message))
	}
	return out
}

func fraction(part, whole int) string {
	return strconv.Itoa(part) + "/" + strconv.Itoa(whole)
}

func (p *progress) blockers() []v1alpha1.Blocker {
	if p.main == nil {
		return nil
	}
	return p.main.Status.Blockers
}

func (p *progress) stage() string { return oneLine(string(p.stages[len(p.stages)-1].stage)) }

func (p *progress) line() string {
	parts := p.facts()
	if blockers := p.blockers(); len(blockers) > 0 {
		parts = append(parts, waits(blockers))
	}
	if p.trouble != "" {
		parts = append(parts, "no connection, trying again: "+p.trouble)
	}
	return p.target.String() + " " + p.stage() + ": " + strings.Join(parts, "; ")
}

// durations lists how long each stage was observed, until now.
func (p *progress) durations(now time.Time) string {
	var parts []string
	for i, s := range p.stages {
		end := now
		if i+1 < len(p.stages) {
			end = p.stages[i+1].at
		}
		switch {
		case s.stage != v1alpha1.StageStable:
			parts = append(parts, oneLine(string(s.stage))+" "+elapsed(end.Sub(s.at)))
		case i == 0 && len(p.stages) > 1:
			parts = append(parts, "to begin "+elapsed(end.Sub(s.at)))
		}
	}
	return strings.Join(parts, ", ")
}

// waits renders blockers on one line. There must be at least one.
func waits(blockers []v1alpha1.Blocker) string {
	text := "waits for " + blockerText(&blockers[0])
	if more := len(blockers) - 1; more > 0 {
		text += " (and for " + plural(more, "other") + ")"
	}
	return text
}
