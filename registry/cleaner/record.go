// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// record decides about one record of evidence. What the record of a member that is gone says is asked for by nobody.
func (d *decider) record(r *inventory.Record) {
	if r.Said == nil || r.Said.Evidence == nil {
		return
	}
	domain, e := d.namespace.Domain(r.Domain), r.Said.Evidence
	if domain == nil {
		return
	}
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
