// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"certrotation.dev/apis/certrotation"
)

func summary(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Field)
	}
	return out
}

func TestValidateReasons(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		want         []string
	}{
		{name: "none"},
		{name: "256 characters", reason: strings.Repeat("ä", 256)},
		{name: "257 characters", reason: strings.Repeat("ä", 257), want: []string{"FieldValueTooLong reason"}},
		{name: "escape sequence", reason: "\x1b[31mred", want: []string{"FieldValueInvalid reason"}},
		{name: "two lines", reason: "a\nb", want: []string{"FieldValueInvalid reason"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rotate := ValidateRotationRequest(&certrotation.RotationRequest{Reason: tc.reason, Compromised: true})
			if diff := cmp.Diff(tc.want, summary(rotate)); diff != "" {
				t.Errorf("rotate (-want +got):\n%s", diff)
			}
			abort := ValidateAbortRequest(&certrotation.AbortRequest{Reason: tc.reason})
			if diff := cmp.Diff(tc.want, summary(abort)); diff != "" {
				t.Errorf("abort (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateAcknowledgement(t *testing.T) {
	const fingerprint = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, tc := range []struct {
		name   string
		mutate func(*certrotation.Acknowledgement)
		want   []string
	}{
		{name: "valid", mutate: func(*certrotation.Acknowledgement) {}},
		{name: "trusts nothing", mutate: func(a *certrotation.Acknowledgement) { a.Trusts = nil }},
		{name: "no party", mutate: func(a *certrotation.Acknowledgement) { a.Party = "" }, want: []string{"FieldValueRequired party"}},
		{name: "bad party", mutate: func(a *certrotation.Acknowledgement) { a.Party = "p/q" }, want: []string{"FieldValueInvalid party"}},
		{name: "no member", mutate: func(a *certrotation.Acknowledgement) { a.Member = "" }, want: []string{"FieldValueRequired member"}},
		{name: "bad member", mutate: func(a *certrotation.Acknowledgement) { a.Member = "M" }, want: []string{"FieldValueInvalid member"}},
		{
			name:   "member that is a node",
			mutate: func(a *certrotation.Acknowledgement) { a.Member = "master-0.example.com" },
		},
		{
			name: "fingerprints",
			mutate: func(a *certrotation.Acknowledgement) {
				a.Trusts = []string{fingerprint, strings.ToUpper(fingerprint), fingerprint[1:], fingerprint + "0", "", strings.Repeat("g", 64)}
			},
			want: []string{
				"FieldValueInvalid trusts[1]", "FieldValueInvalid trusts[2]", "FieldValueInvalid trusts[3]",
				"FieldValueInvalid trusts[4]", "FieldValueInvalid trusts[5]",
			},
		},
		{
			name:   "the same fingerprint twice",
			mutate: func(a *certrotation.Acknowledgement) { a.Presents = []string{fingerprint, fingerprint} },
			want:   []string{"FieldValueDuplicate presents[1]"},
		},
		{
			name:   "too many",
			mutate: func(a *certrotation.Acknowledgement) { a.Trusts = make([]string, MaxFingerprints+1) },
			want:   []string{"FieldValueTooMany trusts"},
		},
		{
			name:   "zero time",
			mutate: func(a *certrotation.Acknowledgement) { a.StartedAt = &metav1.Time{} },
			want:   []string{"FieldValueInvalid startedAt"},
		},
		{
			name:   "start time",
			mutate: func(a *certrotation.Acknowledgement) { a.StartedAt = &metav1.Time{Time: time.Unix(1, 0)} },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ack := &certrotation.Acknowledgement{Party: "party", Member: "member", Trusts: []string{fingerprint}, Presents: []string{fingerprint}}
			tc.mutate(ack)
			if diff := cmp.Diff(tc.want, summary(ValidateAcknowledgement(ack))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
