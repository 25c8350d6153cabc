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
			have: TrustDomain{Leaves: []Leaf{{}}, RelyingParties: []RelyingParty{
				{Evidence: Evidence{Kind: EvidenceAcknowledgement}}, {Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{}}},
				{Evidence: Evidence{Kind: EvidenceWorkloadRollout}},
			}},
			want: TrustDomain{
				Signer: Signer{Policy: signer}, Leaves: []Leaf{{Policy: leaf}}, StageDeadline: duration(time.Hour), ReissuePerMinute: 600,
				RelyingParties: []RelyingParty{
					{Evidence: Evidence{Kind: EvidenceAcknowledgement, Lease: duration(time.Hour)}}, {Evidence: probeEvidence(TLSProbe{})},
					{Evidence: Evidence{Kind: EvidenceWorkloadRollout, WorkloadRollout: &WorkloadRollout{StartGate: StartGateRequired}}},
				},
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
				RelyingParties: []RelyingParty{
					{Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{Proof: ProofHandshake, Interval: duration(3), Timeout: duration(4)}}},
					{Evidence: Evidence{Kind: EvidenceAcknowledgement, Lease: duration(5)}},
				},
			},
			want: TrustDomain{
				Signer:        Signer{Policy: IssuancePolicy{Key: Ed25519, Validity: duration(1), RenewAtPercent: 7, JitterPercent: new(int32(3)), Backdate: duration(0)}},
				StageDeadline: duration(2), ReissuePerMinute: 1,
				RelyingParties: []RelyingParty{
					{Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{Proof: ProofHandshake, Interval: duration(3), Timeout: duration(4)}}},
					{Evidence: Evidence{Kind: EvidenceAcknowledgement, Lease: duration(5)}},
				},
			},
		},
		{
			name: "endpoints of a lone member",
			have: TrustDomain{RelyingParties: []RelyingParty{{
				Name: "server", Presents: []string{"leaf"},
				Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{
					ServerName: "name", ClientLeaf: "client",
					Endpoints: []ProbeEndpoint{{Address: "a:1"}, {Address: "a:2", ServerName: "other", ClientLeaf: "another"}},
				}},
			}}},
			want: TrustDomain{Signer: Signer{Policy: signer}, StageDeadline: duration(time.Hour), ReissuePerMinute: 600, RelyingParties: []RelyingParty{{
				Name: "server", Presents: []string{"leaf"},
				Evidence: probeEvidence(TLSProbe{
					ServerName: "name", ClientLeaf: "client",
					Endpoints: []ProbeEndpoint{
						{Member: "server", Address: "a:1", Presents: "leaf", ServerName: "name", ClientLeaf: "client"},
						{Member: "server", Address: "a:2", Presents: "leaf", ServerName: "other", ClientLeaf: "another"},
					},
				}),
			}}},
		},
		{
			name: "endpoints of several members that present several leaves",
			have: TrustDomain{RelyingParties: []RelyingParty{{
				Members: []string{"x", "y"}, Presents: []string{"leaf", "other"},
				Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{Endpoints: []ProbeEndpoint{{Address: "a:1"}}}},
			}}},
			want: TrustDomain{Signer: Signer{Policy: signer}, StageDeadline: duration(time.Hour), ReissuePerMinute: 600, RelyingParties: []RelyingParty{{
				Members: []string{"x", "y"}, Presents: []string{"leaf", "other"},
				Evidence: probeEvidence(TLSProbe{Endpoints: []ProbeEndpoint{{Address: "a:1"}}}),
			}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := &RotationConfigurationSpec{TrustDomains: []TrustDomain{tc.have}}
			for range 2 {
				SetDefaults(cfg)
				if diff := cmp.Diff(tc.want, cfg.TrustDomains[0]); diff != "" {
					t.Errorf("defaults (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// probeEvidence is a probe with the defaults of its own fields.
func probeEvidence(probe TLSProbe) Evidence {
	probe.Proof, probe.Interval, probe.Timeout = ProofAcceptableAuthorities, duration(5*time.Second), duration(5*time.Second)
	return Evidence{Kind: EvidenceTLSProbe, TLSProbe: &probe}
}

func TestStoreDefaults(t *testing.T) {
	spec := validConfig()
	spec.TrustDomains[0].Bundle.AdditionalFormats = &AdditionalFormats{PKCS12: &TrustStore{Key: "a"}, JKS: &TrustStore{Key: "b", Password: "own words"}}
	spec.TrustDomains[0].Leaves[0].AdditionalFormats = spec.TrustDomains[0].Bundle.AdditionalFormats.DeepCopy()
	SetDefaults(spec)
	for of, formats := range map[string]*AdditionalFormats{
		"bundle": spec.TrustDomains[0].Bundle.AdditionalFormats, "leaf": spec.TrustDomains[0].Leaves[0].AdditionalFormats,
	} {
		if formats.PKCS12.Password != "changeit" || formats.JKS.Password != "own words" {
			t.Errorf("%s: passwords %q and %q", of, formats.PKCS12.Password, formats.JKS.Password)
		}
	}
}

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{Kind, Kind + "List", "RotationRecord", "RotationRecordList"} {
		if !scheme.Recognizes(SchemeGroupVersion.WithKind(kind)) {
			t.Errorf("%s is not registered", kind)
		}
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
		{name: "nothing", selection: LeafSelection{Nothing: true}},
		{name: "name and another usage", selection: LeafSelection{Usages: []Usage{ClientAuth}, Leaves: []string{"a"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.selection.Matches(leaf); got != tc.want {
				t.Errorf("Matches() = %t, want %t", got, tc.want)
			}
		})
	}
}
