// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestSetDefaults(t *testing.T) {
	signer := IssuancePolicy{Key: ECDSAP256, Validity: duration(43800 * time.Hour), RenewAtPercent: 80, JitterPercent: new(int32(0)), Backdate: duration(5 * time.Minute)}
	leaf := signer
	leaf.Validity, leaf.JitterPercent = duration(8760*time.Hour), new(int32(5))
	day := signer
	day.Validity = duration(24 * time.Hour)
	dayLeaf := day
	dayLeaf.JitterPercent = new(int32(5))

	for _, tc := range []struct {
		name string
		have TrustDomain
		want TrustDomain
	}{
		{
			name: "everything is missing",
			have: TrustDomain{Leaves: []Leaf{{}}, RelyingParties: []RelyingParty{{}, {Evidence: Evidence{TLSProbe: &TLSProbe{}}}}},
			want: TrustDomain{
				Signer: Signer{Policy: signer}, Leaves: []Leaf{{Policy: leaf}}, StageDeadline: duration(time.Hour), ReissuePerMinute: 600,
				RelyingParties: []RelyingParty{{}, {Evidence: Evidence{TLSProbe: &TLSProbe{Interval: duration(5 * time.Second), Timeout: duration(5 * time.Second)}}}},
			},
		},
		{
			name: "a short signer",
			have: TrustDomain{Signer: Signer{Policy: IssuancePolicy{Validity: duration(24 * time.Hour)}}, Leaves: []Leaf{{}}},
			want: TrustDomain{Signer: Signer{Policy: day}, Leaves: []Leaf{{Policy: dayLeaf}}, StageDeadline: duration(time.Hour), ReissuePerMinute: 600},
		},
		{
			name: "what is there stays",
			have: TrustDomain{
				Signer:        Signer{Policy: IssuancePolicy{Key: Ed25519, Validity: duration(1), RenewAtPercent: 7, JitterPercent: new(int32(3)), Backdate: duration(0)}},
				StageDeadline: duration(2), ReissuePerMinute: 1,
				RelyingParties: []RelyingParty{{Evidence: Evidence{TLSProbe: &TLSProbe{Interval: duration(3), Timeout: duration(4)}}}},
			},
			want: TrustDomain{
				Signer:        Signer{Policy: IssuancePolicy{Key: Ed25519, Validity: duration(1), RenewAtPercent: 7, JitterPercent: new(int32(3)), Backdate: duration(0)}},
				StageDeadline: duration(2), ReissuePerMinute: 1,
				RelyingParties: []RelyingParty{{Evidence: Evidence{TLSProbe: &TLSProbe{Interval: duration(3), Timeout: duration(4)}}}},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := &RotationConfiguration{TrustDomains: []TrustDomain{tc.have}}
			for range 2 {
				SetDefaults(cfg)
				if diff := cmp.Diff(tc.want, cfg.TrustDomains[0]); diff != "" {
					t.Errorf("defaults (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if !scheme.Recognizes(SchemeGroupVersion.WithKind(Kind)) {
		t.Errorf("%s is not registered", Kind)
	}
}

func TestLeafSelectionMatches(t *testing.T) {
	leaf := Leaf{SecretName: "a", Usages: []Usage{ServerAuth}}
	for _, tc := range []struct {
		name      string
		selection LeafSelection
		want      bool
	}{
		{name: "empty selects all", want: true},
		{name: "one of the usages", selection: LeafSelection{Usages: []Usage{ClientAuth, ServerAuth}}, want: true},
		{name: "none of the usages", selection: LeafSelection{Usages: []Usage{ClientAuth}}},
		{name: "by name", selection: LeafSelection{Leaves: []string{"b", "a"}}, want: true},
		{name: "another name", selection: LeafSelection{Leaves: []string{"b"}}},
		{name: "name and another usage", selection: LeafSelection{Usages: []Usage{ClientAuth}, Leaves: []string{"a"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.selection.Matches(leaf); got != tc.want {
				t.Errorf("Matches() = %t, want %t", got, tc.want)
			}
		})
	}
}
