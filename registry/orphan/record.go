// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func (d *decider) record(r *inventory.Record) {
	domain := d.namespace.Domain(r.Domain)
	if r.Said == nil || domain == nil {
		return
	}
	switch {
	case r.Said.Evidence != nil:
		d.evidence(r, domain)
	case r.Said.Waiver != nil:
		d.waiver(r, domain)
	}
}

// waiver deletes a waiver that ended a grace period ago. Until then operators can still look it up.
func (d *decider) waiver(r *inventory.Record, domain *trust.Domain) {
	until := r.Said.Waiver.Expires.Add(Grace)
	switch {
	case d.now.Before(until):
		d.recheckAt(until)
	case d.unrest(domain):
		d.recheckAt(d.now.Add(heldRecheck))
	default:
		d.add(Delete, trust.RecordKind, &r.ObjectMeta, fmt.Sprintf("the waiver ended at %s", r.Said.Waiver.Expires.UTC().Format(time.RFC3339)))
	}
}

// evidence decides about the evidence of a member. Nothing uses the evidence of a member that is gone.
func (d *decider) evidence(r *inventory.Record, domain *trust.Domain) {
	e := r.Said.Evidence
	at := slices.IndexFunc(domain.Parties, func(p trust.Party) bool { return p.Name == e.Party })
	if at >= 0 {
		members := domain.Parties[at].Members
		if slices.ContainsFunc(members, func(m trust.Member) bool { return m.Name == e.Member }) {
			d.back(trust.RecordKind, &r.ObjectMeta)
			return
		}
		if len(members) == 0 {
			return
		}
	}
	d.gone(trust.RecordKind, &r.ObjectMeta, fmt.Sprintf("member %s of party %s", e.Member, e.Party), func() bool {
		return counted(domain, func(m trust.RosterMember) bool { return m.Party == e.Party && m.Member == e.Member }) || d.unrest(domain)
	})
}
