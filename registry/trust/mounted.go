// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Mounts says where the pods of a party have the files that they load (kind Mounted).
type Mounts struct {
	// Trust is the volume with their anchors, "" if they verify nothing, and TrustKey the key of the object that it shows.
	Trust, TrustKey string
	// Leaves are the volumes with the leaves that they present.
	Leaves []string
}

// Place names these volumes in an observation: what was seen in others is no evidence.
func (m *Mounts) Place() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{m.Trust, m.TrustKey, m.Leaves}))
	return "volumes/" + hex.EncodeToString(sum[:8])
}

// mountsKept refuses that the evidence of pods is read in other volumes than when the rotation began.
func mountsKept(p, q *Party) []Violation {
	if p.Kind != Mounted || p.Mounts.Place() == q.Mounts.Place() {
		return nil
	}
	return []Violation{{Invariant: TrustBeforeUse, Affected: []string{p.Name}, Message: "what its pods have loaded would be read in other volumes, or under another key"}}
}

// chosenByLeaf begins the text of what chooses the pods that mount a leaf. No label selector begins like this.
const chosenByLeaf = "mounting Secret/"

// Mounting is the Party.Selector of the pods that mount a leaf, by the name in the configuration.
func Mounting(leaf string) string { return chosenByLeaf + leaf }
