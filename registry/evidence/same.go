// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"

	"certrotation.dev/registry/trust"
)

// Same says whether b says nothing new compared with a: everything is equal but ObservedAt, in any order. The start of
// the reporting process counts as news, because older processes are refused by it. Two nils are the same.
func Same(a, b *trust.Observation) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameSet(a.Trusts, b.Trusts) &&
		sameSet(a.TrustedSubjects, b.TrustedSubjects) &&
		sameSet(a.Presents, b.Presents) &&
		a.RecoveredUntil.Equal(b.RecoveredUntil) &&
		a.StartedAt.Equal(b.StartedAt) &&
		failureText(a.Failure) == failureText(b.Failure)
}

func sameSet[S ~string](a, b []S) bool {
	return slices.Equal(canonical(a), canonical(b))
}

// canonical returns the list as a record holds it: in order, without duplicates, bounded; nil for an empty one.
func canonical[S ~string](list []S) []S {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), MaxFingerprints)]
}
