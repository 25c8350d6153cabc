// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// rosterForgotten counts the members of the present configuration only.
func rosterForgotten(d *trust.Domain, now time.Time) {
	d.Roster = asConfigured(d, now)
}

// asConfigured returns a roster of the members of the present configuration.
func asConfigured(d *trust.Domain, now time.Time) *trust.Roster {
	before := *d
	if d.Roster != nil {
		before.Roster = nil
	}
	for _, action := range trust.Assess(&before, now).Actions {
		if action.Kind == trust.RecordRoster {
			made := *action.Roster
			if d.Roster != nil {
				made.ResourceVersion = d.Roster.ResourceVersion
			}
			return &made
		}
	}
	return d.Roster
}

// nobodyIsEverybody needs no evidence for a leaf without verifiers or holders.
func nobodyIsEverybody(d *trust.Domain, now time.Time) {
	rosterForgotten(d, now)
	p := trust.Party{Name: "nobody", Kind: trust.None, Members: []trust.Member{{Name: "nobody"}}}
	for i := range d.Leaves {
		p.Verifies = append(p.Verifies, d.Leaves[i].Name)
		p.Members[0].Holds = append(p.Members[0].Holds, d.Leaves[i].Name)
	}
	d.Parties = append(d.Parties, p)
	rosterForgotten(d, now)
}

// lastSpeaks takes the last observation of a member for all of its processes.
func lastSpeaks(d *trust.Domain, _ time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		slices.SortStableFunc(m.Observations, func(x, y trust.Observation) int { return y.ObservedAt.Compare(x.ObservedAt) })
		m.Observations = m.Observations[:min(1, len(m.Observations))]
	})
}

// absenceIsBootstrap takes a domain without Secrets for a new one, whatever is published or presented.
func absenceIsBootstrap(d *trust.Domain, _ time.Time) {
	if d.Signer.Active != nil || slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return l.Certificate != nil }) {
		return
	}
	d.Bundle.Anchors = nil
	eachObservation(d, func(_ *trust.Party, o *trust.Observation) { o.Presents = nil })
}

// hasRunForgotten forgets, when the CA is lost, that leaves were issued.
func hasRunForgotten(d *trust.Domain, _ time.Time) {
	if d.Roster != nil && d.Signer.Active == nil {
		d.Roster.Issued = false
	}
}

// recordedByOneClock records times by the leader's clock, however far that is behind.
func recordedByOneClock(d *trust.Domain, _ time.Time) { d.ClockSkew = d.ClockSkew.Abs() }

// alwaysLooked believes the clock, whenever the domain was last assessed.
func alwaysLooked(d *trust.Domain, _ time.Time) { d.LookedAt = time.Time{} }

// renewedAtOnce takes a written Secret for a loaded one.
func renewedAtOnce(d *trust.Domain, _ time.Time) {
	for i := range d.Parties {
		if d.Parties[i].Kind == trust.Renewed {
			d.Parties[i].Grace = time.Nanosecond
		}
	}
	if d.Roster == nil {
		return
	}
	for i := range d.Roster.Members {
		if d.Roster.Members[i].Kind == trust.Renewed {
			d.Roster.Members[i].Grace = time.Nanosecond
		}
	}
}

// divergedIgnored ignores, at rest, what members trust.
func divergedIgnored(d *trust.Domain, _ time.Time) {
	if d.Signer.Next != nil || len(d.Signer.Previous) > 0 {
		return
	}
	eachMember(d, func(_ *trust.Party, m *trust.Member) { m.Observations = nil })
}

// idleStands makes members that cannot run yet block their own first leaf.
func idleStands(d *trust.Domain, _ time.Time) {
	for i := range d.Parties {
		for k := range d.Parties[i].Members {
			d.Parties[i].Members[k].Instance = ""
		}
	}
	if d.Roster == nil {
		return
	}
	for i := range d.Roster.Members {
		d.Roster.Members[i].Started = true
	}
}

// refusedStopsAll does nothing as long as any write is refused.
func refusedStopsAll(d *trust.Domain, _ time.Time, a *trust.Assessment) {
	if len(d.Refusals) > 0 {
		a.Actions = nil
	}
}

// futureIgnored drops evidence from the future, so that the other processes speak for that one.
func futureIgnored(d *trust.Domain, now time.Time) {
	eachMember(d, func(_ *trust.Party, m *trust.Member) {
		m.Observations = slices.DeleteFunc(m.Observations, func(o trust.Observation) bool {
			return o.ObservedAt.After(now.Add(10*time.Minute)) || o.StartedAt.After(now.Add(10*time.Minute))
		})
	})
}

// waiverForEver applies a waiver of a former rotation to this one.
func waiverForEver(d *trust.Domain, _ time.Time) {
	d.Waivers = slices.Clone(d.Waivers)
	for i := range d.Waivers {
		d.Waivers[i].Rotation = trust.RotationOf(d)
	}
}
