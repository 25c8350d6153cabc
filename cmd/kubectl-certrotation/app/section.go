// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/cmd/kubectl-certrotation/picture"
)

// newSection is what a report says about a domain, but for its plan.
func newSection(d *Domain, now time.Time) picture.Section {
	v := &graphView{domain: d, now: now, cas: map[string]string{}}
	s := picture.Section{
		Name:     oneLine(d.Namespace + "/" + d.Name),
		Blockers: blockersOf(d.Blockers, now),
		Graph:    v.graph(),
		Members:  v.memberRows(),
	}
	s.Stage, s.StageState = v.stage()
	cas, leaves := v.caTimeline(), v.leafTimeline()
	s.NextExpiry = v.next(cas.Bars, leaves.Bars)
	for _, t := range []picture.Timeline{cas, leaves} {
		if len(t.Bars) > 0 {
			s.Timelines = append(s.Timelines, t)
		}
	}
	return s
}

func blockersOf(list []v1alpha1.Blocker, now time.Time) []picture.Blocker {
	out := make([]picture.Blocker, 0, len(list))
	for i := range list {
		b := picture.Blocker{Subject: blockerName(&list[i]), Message: oneLine(list[i].Message)}
		if since := list[i].Since; since != nil {
			b.Since = duration.HumanDuration(now.Sub(since.Time))
		}
		out = append(out, b)
	}
	return out
}

func (v *graphView) caTimeline() picture.Timeline {
	t := picture.Timeline{Title: "CAs", Now: v.now}
	for i := range v.domain.Signer.Slots {
		slot := &v.domain.Signer.Slots[i]
		var due *metav1.Time
		if slot.Slot == slotActive {
			due = v.domain.Signer.RotatesAt
		}
		b := v.bar(&slot.Certificate, due)
		b.Name = oneLine(slot.Certificate.Subject)
		b.Remark = fmt.Sprintf("%s, %s, %s", slot.Slot, oneLine(slot.Certificate.KeyAlgorithm), short(slot.Certificate.Fingerprint))
		t.Bars = append(t.Bars, b)
	}
	return t
}

// leafTimeline has the leaf first that expires first.
func (v *graphView) leafTimeline() picture.Timeline {
	t := picture.Timeline{Title: "Leaves", Now: v.now}
	for i := range v.domain.Leaves {
		l := &v.domain.Leaves[i]
		b := picture.Bar{Ends: "no certificate", State: picture.Bad, Remark: oneLine(l.Health.Message)}
		if c := l.Certificate; c != nil {
			b = v.bar(c, l.RotatesAt)
			b.Remark = fmt.Sprintf("%s, %s, %s", oneLine(c.Subject), signedBy(l), short(c.Fingerprint))
		}
		b.Name = oneLine(l.Name)
		t.Bars = append(t.Bars, b)
	}
	slices.SortStableFunc(t.Bars, func(a, b picture.Bar) int { return a.To.Compare(b.To) })
	return t
}

func (v *graphView) bar(c *v1alpha1.Certificate, due *metav1.Time) picture.Bar {
	b := picture.Bar{From: c.NotBefore.Time, To: c.NotAfter.Time}
	b.Ends, b.State = v.expiry(c)
	if due != nil {
		b.Renewal = due.Time
		if b.State == picture.Plain && !due.After(v.now) {
			b.Ends, b.State = b.Ends+", rotation is due", picture.Warn
		}
	}
	return b
}

// next is the expiry that comes first. A certificate that is missing is worse than any.
func (v *graphView) next(lists ...[]picture.Bar) picture.Badge {
	var first *picture.Bar
	for _, bars := range lists {
		for i := range bars {
			if first == nil || bars[i].To.Before(first.To) {
				first = &bars[i]
			}
		}
	}
	if first == nil {
		return picture.Badge{Text: "unknown", State: picture.Unknown}
	}
	return picture.Badge{Text: first.Name + " " + first.Ends, State: first.State}
}

func (v *graphView) memberRows() []picture.Member {
	var out []picture.Member
	for i := range v.domain.Parties {
		for k := range v.domain.Parties[i].Members {
			m := &v.domain.Parties[i].Members[k]
			row := picture.Member{
				Party: oneLine(m.Party), Name: oneLine(m.Member), Evidence: oneLine(m.Evidence),
				Trusts:   picture.Badge{Text: "verifies nothing", State: picture.Plain},
				Presents: v.evidence(m, m.Delivered, "yes", "no", "unknown"),
				Remarks:  remarks(m),
			}
			if !m.VerifiesNothing {
				row.Trusts = v.evidence(m, m.Trusted, "yes", "no", "unknown")
			}
			if m.LastChange != nil {
				row.Changed = duration.HumanDuration(v.now.Sub(m.LastChange.Time)) + " ago"
			}
			out = append(out, row)
		}
	}
	return out
}

func newPlan(plan *v1alpha1.RotationPlan, now time.Time) picture.Plan {
	out := picture.Plan{Hash: oneLine(plan.Hash), Blockers: blockersOf(plan.Blockers, now)}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		out.Steps = append(out.Steps, picture.Step{
			Stage: oneLine(string(step.Stage)), Action: oneLine(step.Action), Object: oneLine(step.Object),
			WaitsFor: oneLine(strings.Join(step.WaitsFor, ", ")), Message: oneLine(step.Message),
		})
	}
	return out
}
