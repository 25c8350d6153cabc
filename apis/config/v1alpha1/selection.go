// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
)

// Matches says whether the selection has the leaf: that it verifies anything, that the leaf is one of its leaves, if it
// names any, and that it has one of its usages, if it names any.
func (s LeafSelection) Matches(leaf Leaf) bool {
	if s.Nothing || len(s.Leaves) > 0 && !slices.Contains(s.Leaves, leaf.SecretName) {
		return false
	}
	return len(s.Usages) == 0 || slices.ContainsFunc(s.Usages, func(usage Usage) bool {
		return slices.Contains(leaf.Usages, usage)
	})
}
