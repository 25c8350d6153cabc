// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// waives waives a member of which no process runs or can start.
func (w *world) waives() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	idle := w.idle(d)
	return len(idle) > 0 && w.waive(d, one(w.dice, "member", idle))
}

// waivesIdle waives all members that cannot run while a rotation waits. It ends second processes of members whose
// first process cannot run: a waiver says that no process of the member runs.
func (w *world) waivesIdle(d *trust.Domain) {
	for _, p := range slices.Clone(w.processes) {
		if first := w.processesOf(p.member)[0]; p.number > 0 && !first.up && !w.couldStart(first) {
			w.say("somebody ends %s", p.name)
			w.end(p)
		}
	}
	for _, m := range w.idle(d) {
		w.waive(d, m)
	}
}

// waivesStrangers waives members that count, but can never give evidence:
//
//   - pods that an edited selector has chosen in flight, and that play no role in the party;
//   - nodes that are recorded under the former name of their party;
//   - nodes that are recorded as another machine, from before they had their present address.
//
// A machine that no party counts any more ends first: a waiver says that no process of the member runs.
func (w *world) waivesStrangers(d *trust.Domain, a *trust.Assessment) {
	for _, b := range a.Blockers {
		p := w.process(b.Member)
		if p == nil {
			continue
		}
		m := membership{domain: d.Name, party: b.Party, member: b.Member}
		renamed := !slices.ContainsFunc(d.Parties, func(p trust.Party) bool { return p.Name == b.Party })
		earlier := b.Reason == trust.ReasonNotObserved && p.up && recordedAs(d, m, p.formerly)
		if (p.pod != nil || renamed) && p.roles[m] == nil || earlier {
			if p.up && p.pod == nil && !w.counted(b.Member) {
				w.removeNode(b.Member)
			}
			w.waive(d, m)
		}
	}
}

// counted reports whether a party has a member of that name.
func (w *world) counted(member string) bool {
	return slices.ContainsFunc(w.domains().Domains, func(d *trust.Domain) bool {
		return slices.ContainsFunc(d.Parties, func(p trust.Party) bool {
			return slices.ContainsFunc(p.Members, func(m trust.Member) bool { return m.Name == member })
		})
	})
}

// recordedAs reports whether a member counts as one of these instances.
func recordedAs(d *trust.Domain, m membership, instances []string) bool {
	return d.Roster != nil && slices.ContainsFunc(d.Roster.Members, func(r trust.RosterMember) bool {
		return r.Party == m.party && r.Member == m.member && r.Absent == "" && slices.Contains(instances, r.Instance)
	})
}

// idle returns the members of a domain whose processes are down and cannot start: they wait for a leaf that waits
// for them.
func (w *world) idle(d *trust.Domain) []membership {
	if !trust.Assess(w.seen(d), w.clock.now()).Blocked() {
		return nil
	}
	var out []membership
	for _, p := range w.processes {
		if w.runsSomewhere(p.member) || w.couldStart(p) {
			continue
		}
		for _, m := range p.memberships() {
			if m.domain == d.Name {
				out = append(out, m)
			}
		}
	}
	return out
}

func (w *world) runsSomewhere(member string) bool {
	return slices.ContainsFunc(w.processesOf(member), func(p *process) bool { return p.up })
}

// waive records a waiver as the subresource does. It reports whether the waiver is new, and the model allows it.
func (w *world) waive(d *trust.Domain, m membership) bool {
	name := record.WaiverName(m.domain, m.party, m.member)
	waiver := &trust.Waiver{Party: m.party, Member: m.member, Reason: "it cannot run", By: "somebody", Expires: w.clock.now().Add(30 * 24 * time.Hour),
		Rotation: trust.RotationOf(d)}
	if w.inForce(name, waiver) || trust.CheckWaiver(d, waiver, w.clock.now()) != nil {
		return false
	}
	made, err := record.OfWaiver(namespace, m.domain, waiver)
	if err != nil {
		w.breaks(err)
		return false
	}
	w.say("somebody waives %s of %s in %s", m.member, m.party, m.domain)
	w.counts.event(waived)
	w.api.putRecord(made, w.clock.now())
	return true
}

// inForce reports whether there is such a waiver already.
func (w *world) inForce(name string, waiver *trust.Waiver) bool {
	r := w.api.latest().Records[name]
	return r != nil && r.Said != nil && r.Said.Waiver.Expires.After(w.clock.now()) && r.Said.Waiver.Rotation == waiver.Rotation
}

// takesBackWaivers ends the waivers of a member that runs again in this rotation. Those of a former rotation stay.
func (w *world) takesBackWaivers(p *process) {
	for _, m := range p.memberships() {
		name := record.WaiverName(m.domain, m.party, m.member)
		r := w.api.latest().Records[name]
		if d := w.domain(m.domain); r != nil && (r.Said == nil || d == nil || r.Said.Waiver.Rotation == trust.RotationOf(d)) {
			w.say("somebody takes the waiver of %s back", m.member)
			w.api.deleteRecord(name)
		}
	}
}
