// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Waiver is an operator's decision to let one rotation continue without the evidence of one member. It replaces
// missing evidence. It does not outweigh evidence that a live process of the member lacks the CA or presents a former
// leaf.
type Waiver struct {
	Party, Member string
	Reason        string
	By            string
	Expires       time.Time
	// RotatedFrom is the CA that is active when the rotation begins, "" for none. An aborted rotation has not left
	// it.
	RotatedFrom pki.Fingerprint
}

// longestWaiver bounds a waiver: after a month the member should leave the configuration.
const longestWaiver = 30 * 24 * time.Hour

// CheckWaiver checks whether a member may be waived: it must count. It returns a *Refusal or nil.
func CheckWaiver(d *Domain, w *Waiver, now time.Time) error {
	if _, _, err := reporter(d, w.Party, w.Member); err != nil {
		return err
	}
	switch {
	case w.Reason == "":
		return refuse("a waiver needs a reason")
	case w.Expires.After(now.Add(longestWaiver)):
		return refuse("a waiver lasts %s at most", longestWaiver)
	}
	return nil
}

// RotatedFrom returns the CA that was active when the rotation in flight began; at rest, the active CA. It is "" if
// there is none.
func RotatedFrom(d *Domain) pki.Fingerprint { return (&assessor{d: d}).from() }

// Contradicted returns when the last evidence that contradicts a waiver of the member ends, zero if there is none.
func Contradicted(d *Domain, party, member string, now time.Time) time.Time {
	a := newAssessor(d, now)
	newest := a.newest()
	var until time.Time
	for p, m := range each(a.parties) {
		if p.Name != party || m.Name != member || newest == nil {
			continue
		}
		for _, o := range a.observations[m] {
			if (a.without(p, o, newest) || o.Failure == "" && a.presentsOther(m, o)) && o.Expires.After(until) {
				until = o.Expires
			}
		}
	}
	return until
}

// waiver returns the waiver in force for a member, or nil.
func (a *assessor) waiver(p *Party, m *Member) *Waiver {
	for i := range a.d.Waivers {
		w := &a.d.Waivers[i]
		if w.Party == p.Name && w.Member == m.Name && a.inForce(w) {
			return w
		}
	}
	return nil
}

// inForce reports whether a waiver has not ended and is for the current rotation.
func (a *assessor) inForce(w *Waiver) bool {
	return w.Expires.After(a.now) && w.RotatedFrom == a.from()
}

// WaiversInForce returns the waivers that have not ended and are for the current rotation.
func WaiversInForce(d *Domain, now time.Time) []Waiver {
	// The CAs alone identify the rotation.
	a := &assessor{d: d, now: now}
	return slices.DeleteFunc(slices.Clone(d.Waivers), func(w Waiver) bool { return !a.inForce(&w) })
}

func (a *assessor) from() pki.Fingerprint {
	if ca := a.rotatedFrom(); ca != nil {
		return ca.Fingerprint
	}
	return ""
}

// rotatedFrom returns the CA that was active when the rotation in flight began; at rest, the active CA; nil if there
// is none. If its key was lost, its anchor tells. It reads only CAs: the evidence of members depends on their
// waivers, and those depend on this. A CA that was renewed with its key is no other CA.
func (a *assessor) rotatedFrom() *pki.Certificate {
	s := &a.d.Signer
	from := s.Active
	if s.Next != nil && from != nil {
		return from
	}
	for _, ca := range slices.Concat(s.Previous, a.earlier()) {
		if !sameKey(ca, s.Active) && a.wasActive(ca) && (same(from, s.Active) || from == nil || ca.NotBefore.After(from.NotBefore)) {
			from = ca
		}
	}
	return from
}
