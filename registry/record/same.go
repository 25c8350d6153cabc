// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"certrotation.dev/registry/trust"
)

// Same says whether b says nothing new of a process compared with a: everything is equal but when it was observed and
// until when that holds, in any order. The start of the process counts as news, because older processes are told by it.
func Same(a, b *trust.Observation) bool {
	x, y := process(a), process(b)
	return x.Instance == y.Instance && x.Kind == y.Kind && x.Address == y.Address &&
		slices.Equal(x.Trusts, y.Trusts) && slices.Equal(x.TrustedSubjects, y.TrustedSubjects) &&
		slices.Equal(x.Presents, y.Presents) && x.RecoveredUntil.Equal(y.RecoveredUntil) &&
		x.StartedAt.Equal(y.StartedAt) && x.Failure == y.Failure && x.ReportedBy == y.ReportedBy &&
		x.ReportedByUID == y.ReportedByUID
}

// SameRefusal says whether the same write is refused with the same answer, since whenever.
func SameRefusal(a, b *trust.RefusedWrite) bool {
	return a.Object == b.Object && a.Verb == b.Verb && text(a.Answer, maxLongText) == text(b.Answer, maxLongText)
}
