// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"time"
)

// EvidenceRecord is a record of what is known of one member, configured or not. Pods leave theirs behind.
type EvidenceRecord struct {
	// Record is the name of the record.
	Record, UID, ResourceVersion string
	Party, Member                string
	// Expires is when the last of its observations ends.
	Expires time.Time
}

// dropEvidence deletes the records that nothing needs any more. Their leases have ended, and they are of no known
// member. A later member of that name is observed anew.
func (a *assessor) dropEvidence() []Action {
	var actions []Action
	for _, r := range a.ownerless() {
		if r.Expires.After(a.now) {
			continue
		}
		actions = append(actions, Action{
			Kind: DropEvidence, ObjectKind: RecordKind, Object: r.Record, ResourceVersion: r.ResourceVersion, Evidence: r,
			Reason: fmt.Sprintf("member %s of party %s is neither configured nor recorded to count", r.Member, r.Party),
		})
	}
	return actions
}

// ownerless returns the records of members that are neither configured nor in the roster. While the pods of a party
// are unknown, each of its records may belong to one of them.
func (a *assessor) ownerless() []*EvidenceRecord {
	if len(a.d.Evidence) == 0 {
		return nil
	}
	owned, unlisted := map[memberKey]bool{}, map[string]bool{}
	for i := range a.d.Parties {
		p := &a.d.Parties[i]
		unlisted[p.Name] = unlisted[p.Name] || p.Unlisted
		for j := range p.Members {
			owned[memberKey{p.Name, p.Members[j].Name}] = true
		}
	}
	if a.d.Roster != nil {
		for i := range a.d.Roster.Members {
			r := &a.d.Roster.Members[i]
			owned[memberKey{r.Party, r.Member}] = true
		}
	}
	var out []*EvidenceRecord
	for i := range a.d.Evidence {
		if r := &a.d.Evidence[i]; !owned[memberKey{r.Party, r.Member}] && !unlisted[r.Party] {
			out = append(out, r)
		}
	}
	return out
}
