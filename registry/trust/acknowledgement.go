// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"time"
)

// CheckAcknowledgement says whether a member may report an observation: the party must exist in the domain with the
// evidence kind acknowledgement, the member must be one of its members, and the reporting process must not be older
// than the one that reported before. It returns a *Refusal or nil.
func CheckAcknowledgement(d *Domain, party, member string, report *Observation) error {
	for i := range d.Parties {
		p := &d.Parties[i]
		if p.Name != party {
			continue
		}
		if p.Kind != Acknowledgement {
			return &Refusal{Invariant: TrustBeforeUse, Message: fmt.Sprintf("relying party %s is proven by %s, not by acknowledgement", party, p.Kind)}
		}
		for k := range p.Members {
			if p.Members[k].Name == member {
				return checkReporter(p.Members[k].Observation, report)
			}
		}
		return &Refusal{Invariant: TrustBeforeUse, Message: fmt.Sprintf("relying party %s has no member %s", party, member)}
	}
	return &Refusal{Invariant: TrustBeforeUse, Message: fmt.Sprintf("trust domain %s has no relying party %s", d.Name, party)}
}

func checkReporter(before, report *Observation) error {
	if before == nil || report.StartedAt.IsZero() || !report.StartedAt.Before(before.StartedAt) {
		return nil
	}
	return &Refusal{Invariant: ContentDecides, Message: fmt.Sprintf("a process that started later (%s) has reported already",
		before.StartedAt.UTC().Format(time.RFC3339))}
}
