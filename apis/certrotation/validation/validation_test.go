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
			install := ValidateAuthorityInstallation(&certrotation.AuthorityInstallation{Reason: tc.reason, Certificates: "x"})
			if diff := cmp.Diff(tc.want, summary(install)); diff != "" {
				t.Errorf("install (-want +got):\n%s", diff)
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
			mutate: func(a *certrotation.Acknowledgement) { a.Trusts = make([]string, maxFingerprints+1) },
			want:   []string{"FieldValueTooMany trusts"},
		},
		{
			name: "no times",
			mutate: func(a *certrotation.Acknowledgement) {
				a.StartedAt, a.ObservedAt = metav1.MicroTime{}, metav1.MicroTime{}
			},
			want: []string{"FieldValueRequired startedAt", "FieldValueRequired observedAt"},
		},
		{
			name:   "no instance",
			mutate: func(a *certrotation.Acknowledgement) { a.Instance = "" },
			want:   []string{"FieldValueRequired instance"},
		},
		{
			name:   "a long instance",
			mutate: func(a *certrotation.Acknowledgement) { a.Instance = strings.Repeat("ä", 254) },
			want:   []string{"FieldValueTooLong instance"},
		},
		{
			name:   "an instance with an escape sequence",
			mutate: func(a *certrotation.Acknowledgement) { a.Instance = "\x1b[31mred" },
			want:   []string{"FieldValueInvalid instance"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ack := &certrotation.Acknowledgement{
				Party: "party", Member: "member", Trusts: []string{fingerprint}, Presents: []string{fingerprint}, Instance: "pod",
				StartedAt: metav1.NewMicroTime(time.Unix(1, 0)), ObservedAt: metav1.NewMicroTime(time.Unix(2, 0)),
			}
			tc.mutate(ack)
			if diff := cmp.Diff(tc.want, summary(ValidateAcknowledgement(ack))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateWaiver(t *testing.T) {
	at := metav1.NewTime(time.Unix(1, 0))
	for _, tc := range []struct {
		name   string
		mutate func(*certrotation.Waiver)
		want   []string
	}{
		{name: "for a time", mutate: func(*certrotation.Waiver) {}},
		{name: "until a time", mutate: func(w *certrotation.Waiver) { w.ExpiresAfter, w.Expires = nil, &at }},
		{name: "withdrawn", mutate: func(w *certrotation.Waiver) { w.ExpiresAfter.Duration = 0 }},
		{name: "no party", mutate: func(w *certrotation.Waiver) { w.Party = "" }, want: []string{"FieldValueRequired party"}},
		{name: "no member", mutate: func(w *certrotation.Waiver) { w.Member = "" }, want: []string{"FieldValueRequired member"}},
		{name: "no reason", mutate: func(w *certrotation.Waiver) { w.Reason = "" }, want: []string{"FieldValueRequired reason"}},
		{name: "a long reason", mutate: func(w *certrotation.Waiver) { w.Reason = strings.Repeat("x", 257) }, want: []string{"FieldValueTooLong reason"}},
		{name: "no end", mutate: func(w *certrotation.Waiver) { w.ExpiresAfter = nil }, want: []string{"FieldValueRequired expiresAfter"}},
		{name: "an end that is none", mutate: func(w *certrotation.Waiver) { w.ExpiresAfter, w.Expires = nil, &metav1.Time{} },
			want: []string{"FieldValueRequired expiresAfter"}},
		{name: "two ends", mutate: func(w *certrotation.Waiver) { w.Expires = &at }, want: []string{"FieldValueForbidden expires"}},
		{name: "a negative time", mutate: func(w *certrotation.Waiver) { w.ExpiresAfter.Duration = -1 }, want: []string{"FieldValueInvalid expiresAfter"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			waiver := &certrotation.Waiver{Party: "party", Member: "member", Reason: "off", ExpiresAfter: &metav1.Duration{Duration: time.Hour}}
			tc.mutate(waiver)
			if diff := cmp.Diff(tc.want, summary(ValidateWaiver(waiver))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
