// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"time"
)

// EvidenceRecord is a record of what is known of one member, whoever that is: pods come and go, and leave theirs.
type EvidenceRecord struct {
	// Record is its name.
	Record, UID, ResourceVersion string
	Party, Member                string
	// Expires is when the last of its observations ends.
	Expires time.Time
}

// dropEvidence deletes the records that nobody needs any more. They prove nothing, as their leases have ended, and of nobody:
// whoever gets the name of the member again is looked at anew.
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

// ownerless are the records of members that are neither configured nor in the roster. As long as it is not known who the
// pods of a party are, each record of it may be that of one of them.
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
