// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// outlived are the members (party/member) that present a leaf which works, though every leaf in a Secret and the active CA
// have expired: what `certrotation recover` leaves behind until the manifests that it wrote are applied. Those leaves need
// the key of the active CA. until is when the last of them ends.
//
// Reports are not asked: they are as old as the process that made them. Nor does the revision of a static pod tell, as a
// recovery is none.
func (a *assessor) outlived() (members []string, until time.Time) {
	if active := a.d.Signer.Active; active == nil || !active.Expired(a.now) || a.lives > 0 {
		return nil, time.Time{}
	}
	for _, p := range a.parties {
		if p.Kind != TLSProbe {
			continue
		}
		for i := range p.Members {
			m := &p.Members[i]
			last := m.recoveredUntil()
			if last.IsZero() || last.Before(a.now) {
				continue
			}
			members = append(members, p.Name+"/"+m.Name)
			a.recheckAt(last.Add(time.Nanosecond))
			if last.After(until) {
				until = last
			}
		}
	}
	slices.Sort(members)
	return members, until
}

// recoveredUntil is when the last recovered leaf ends that a process of the member was seen to present. That it was seen is
// enough, however long ago: the leaf says itself until when it lives.
func (m *Member) recoveredUntil() time.Time {
	var last time.Time
	for i := range m.Observations {
		if until := m.Observations[i].RecoveredUntil; until.After(last) {
			last = until
		}
	}
	return last
}

// outlivedProblem says that nothing is done because a new CA would take the key away from leaves that work.
func (a *assessor) outlivedProblem() *Problem {
	members, until := a.outlived()
	if len(members) == 0 {
		return nil
	}
	object := secret(a.d.Signer.Name)
	return &Problem{Object: object, Reason: ReasonOutlived, Message: fmt.Sprintf(
		"has expired, as has every leaf in a Secret, but %s present leaves of its key that are valid until %s, so they were recovered; "+
			"nothing is done, as a new CA would destroy the key that they need: apply the manifests that `certrotation recover` wrote "+
			"to its --output-dir on every node, or delete %s if these members may be cut off",
		strings.Join(members, ", "), until.UTC().Format(time.RFC3339), object)}
}
