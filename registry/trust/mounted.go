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
	// Trust is the volume with their anchors, "" if they verify nothing. TrustKey is the key of its object.
	Trust, TrustKey string
	// Leaves are the volumes with the leaves that they present.
	Leaves []string
}

// Place names these volumes in an observation. Observations of other volumes are no evidence.
func (m *Mounts) Place() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{m.Trust, m.TrustKey, m.Leaves}))
	return "volumes/" + hex.EncodeToString(sum[:8])
}

// mountsKept refuses that, during a rotation, the evidence of pods is read from other volumes.
func mountsKept(p, q *Party) []Violation {
	if p.Kind != Mounted || p.Mounts.Place() == q.Mounts.Place() {
		return nil
	}
	return []Violation{{Invariant: TrustBeforeUse, Affected: []string{p.Name}, Message: "what its pods have loaded would be read in other volumes, or under another key"}}
}

// chosenByLeaf begins the Party.Selector of pods that mount a leaf. No label selector begins like this.
const chosenByLeaf = "mounting Secret/"

// Mounting is the Party.Selector of the pods that mount a leaf, by its name in the configuration.
func Mounting(leaf string) string { return chosenByLeaf + leaf }
