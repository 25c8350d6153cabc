// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// TestRemarksSayWhatIsTakenForGranted: the text tells missing evidence from evidence that rests on an assumption.
func TestRemarksSayWhatIsTakenForGranted(t *testing.T) {
	for name, tt := range map[string]struct {
		member v1alpha1.MemberStatus
		want   string
	}{
		"nothing":             {v1alpha1.MemberStatus{Evidence: "workloadRollout"}, ""},
		"no evidence":         {v1alpha1.MemberStatus{Evidence: "none", Reason: "they click it away"}, "no evidence is asked for: they click it away"},
		"an assumption":       {v1alpha1.MemberStatus{Evidence: "workloadRollout", Reason: "it is assumed"}, "it is assumed"},
		"and what it lacks":   {v1alpha1.MemberStatus{Evidence: "workloadRollout", Reason: "it is assumed", Message: "was not seen"}, "it is assumed; was not seen"},
		"only what it lacks":  {v1alpha1.MemberStatus{Evidence: "tlsProbe", Message: "was not seen"}, "was not seen"},
		"nothing is asked of": {v1alpha1.MemberStatus{Evidence: "none"}, ""},
	} {
		if got := remarks(&tt.member); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
