// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cleaner

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// record decides about one evidence record. What the record of a member that is gone says is asked for by nobody.
func (d *decider) record(cm *inventory.ConfigMap) {
	e := cm.Evidence
	if e == nil || e.Observation == nil || cm.Name != evidence.RecordName(e.Domain, e.Party, e.Member) {
		return
	}
	if claim, ok := d.namespace.Claim(trust.ConfigMapKind, cm.Name); !ok || claim.Kind != inventory.ClaimEvidence {
		return
	}
	domain := d.namespace.Domain(e.Domain)
	if domain == nil {
		return
	}
	at := slices.IndexFunc(domain.Parties, func(p trust.Party) bool { return p.Name == e.Party })
	if at >= 0 {
		members := domain.Parties[at].Members
		if slices.ContainsFunc(members, func(m trust.Member) bool { return m.Name == e.Member }) {
			d.back(trust.ConfigMapKind, &cm.ObjectMeta)
			return
		}
		if len(members) == 0 {
			return
		}
	}
	d.gone(trust.ConfigMapKind, &cm.ObjectMeta, fmt.Sprintf("member %s of party %s", e.Member, e.Party), func() bool { return d.unrest(domain) })
}
