// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
)

// Matches says whether a party with this selection verifies a leaf of its trust domain.
func (s LeafSelection) Matches(leaf Leaf) bool {
	if len(s.Leaves) > 0 && !slices.Contains(s.Leaves, leaf.SecretName) {
		return false
	}
	return len(s.Usages) == 0 || slices.ContainsFunc(s.Usages, func(usage Usage) bool {
		return slices.Contains(leaf.Usages, usage)
	})
}
