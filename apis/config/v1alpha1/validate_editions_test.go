// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestEditions: a trust domain of editions refuses what reads or writes Secrets and ConfigMaps by its names.
func TestEditions(t *testing.T) {
	const domain, party = "spec.trustDomains[0]", "spec.trustDomains[0].relyingParties[0]"
	probed := func(p *RelyingParty, probe TLSProbe) {
		probe.Endpoints = []ProbeEndpoint{{Address: "web:443"}}
		p.Evidence = Evidence{Kind: EvidenceTLSProbe, TLSProbe: &probe}
	}
	for _, tt := range []struct {
		name   string
		mutate func(*TrustDomain)
		// path of the only error, "" for none.
		path, detail string
	}{
		{name: "as it should be", mutate: func(*TrustDomain) {}},
		{name: "no identity", mutate: func(d *TrustDomain) { d.Editions.Identity = "" }, path: domain + ".editions.identity"},
		{name: "an identity that is no label", mutate: func(d *TrustDomain) { d.Editions.Identity = "a/b" }, path: domain + ".editions.identity"},
		{name: "another bundle", mutate: func(d *TrustDomain) { d.Bundle.ConfigMapName = "bundle" }, path: domain, detail: "with -bundle"},
		{name: "a trust store", mutate: func(d *TrustDomain) {
			d.Bundle.AdditionalFormats = &AdditionalFormats{JKS: &TrustStore{Key: "a.jks"}}
		}, path: domain, detail: "additionalFormats"},
		{name: "a place for new anchors", mutate: func(d *TrustDomain) { d.Bundle.NewAnchors = AnchorsFirst }, path: domain, detail: "newAnchors"},
		{name: "a keystore of a leaf", mutate: func(d *TrustDomain) {
			d.Leaves[0].Keystores = &Keystores{JKS: &Keystore{Key: "a.jks", PasswordSecretRef: PasswordSecretRef{Name: "password", Key: "p"}}}
		}, path: domain, detail: "neither keystores nor additionalFormats"},
		{name: "a trust store of a leaf", mutate: func(d *TrustDomain) {
			d.Leaves[0].AdditionalFormats = &AdditionalFormats{JKS: &TrustStore{Key: "a.jks"}}
		}, path: domain, detail: "neither keystores nor additionalFormats"},
		{name: "an injection", mutate: func(d *TrustDomain) {
			d.Bundle.InjectInto = []InjectionTarget{{Kind: InjectAPIService, Name: "v1.example.com"}}
		}, path: domain, detail: "injectInto"},
		{name: "unlisted leaves", mutate: func(d *TrustDomain) { d.UnlistedLeaves = &UnlistedLeaves{Drain: *duration(time.Hour)} }, path: domain, detail: "unlistedLeaves"},
		{name: "a leaf for each node", mutate: func(d *TrustDomain) {
			d.Leaves[0].SecretName, d.Leaves[0].ForEachNode = "server-{node}", &metav1.LabelSelector{}
			d.RelyingParties[0].Presents = []string{"server-{node}"}
		}, path: domain, detail: "forEachNode"},
		{name: "a start gate", mutate: func(d *TrustDomain) {
			d.RelyingParties[0].Pods = &PodMembers{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
			d.RelyingParties[0].Evidence = Evidence{Kind: EvidenceWorkloadRollout}
		}, path: party + ".evidence.kind", detail: "use mounted"},
		{name: "a probe", mutate: func(d *TrustDomain) { probed(&d.RelyingParties[0], TLSProbe{ServerName: "web"}) }},
		{name: "a probe with a leaf", mutate: func(d *TrustDomain) { probed(&d.RelyingParties[0], TLSProbe{ServerName: "web", ClientLeaf: "server"}) },
			path: party + ".evidence.tlsProbe.clientLeaf", detail: "leave it out"},
		{name: "a probe by handshakes", mutate: func(d *TrustDomain) { probed(&d.RelyingParties[0], TLSProbe{ServerName: "web", Proof: ProofHandshake}) },
			path: party + ".evidence.tlsProbe.proof", detail: "leave it out"},
		{name: "pods by what they mount", mutate: func(d *TrustDomain) {
			d.RelyingParties[0].Pods = &PodMembers{Mounting: &MountedLeaf{SecretName: "server"}}
		}, path: party + ".pods.mounting.secretName", detail: "by labels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := &RotationConfigurationSpec{TrustDomains: []TrustDomain{{
				Name: "web", Editions: &Editions{Identity: "operator"}, Signer: Signer{SecretName: "ca"}, Bundle: Bundle{ConfigMapName: "ca-bundle"},
				Leaves: []Leaf{{SecretName: "server", CommonName: "web", Usages: []Usage{ServerAuth, ClientAuth}}},
				RelyingParties: []RelyingParty{
					{Name: "all", Presents: []string{"server"}, Evidence: Evidence{Kind: EvidenceAcknowledgement}},
				},
			}}}
			tt.mutate(&spec.TrustDomains[0])
			errs := refusals(t, spec, "ns")
			if tt.path == "" && len(errs) > 0 || tt.path != "" && !slices.ContainsFunc(errs, func(err *field.Error) bool {
				return err.Field == tt.path && strings.Contains(err.Error(), tt.detail)
			}) {
				t.Errorf("want an error of %q about %q, got %v", tt.path, tt.detail, errs.ToAggregate())
			}
		})
	}
}

// TestEditionsAreNotCollected: what is written by others is not copied, collected or rolled out.
func TestEditionsAreNotCollected(t *testing.T) {
	spec := &RotationConfigurationSpec{
		TrustDomains: []TrustDomain{{
			Name: "web", Editions: &Editions{Identity: "operator"}, Signer: Signer{SecretName: "ca"}, Bundle: Bundle{ConfigMapName: "ca-bundle"},
			Leaves:         []Leaf{{SecretName: "server", CommonName: "web", Usages: []Usage{ServerAuth}}},
			RelyingParties: []RelyingParty{{Name: "all", Presents: []string{"server"}, Evidence: Evidence{Kind: EvidenceAcknowledgement}}},
		}},
		Copies: []Copy{{Kind: CopyConfigMap, Name: "ca-bundle", ToName: "a"}, {Kind: CopySecret, Name: "server", ToName: "b"}},
		Aggregate: &Aggregate{
			SecretName: "all", Leaves: []string{"server"}, ConfigMapName: "all", Bundles: []AggregatedBundle{{Key: "a.crt", ConfigMapName: "ca-bundle"}},
		},
	}
	var got []string
	for _, err := range refusals(t, spec, "ns") {
		got = append(got, err.Field)
	}
	slices.Sort(got)
	want := []string{"spec.aggregate.bundles[0].configMapName", "spec.aggregate.leaves[0]", "spec.copies[0].name", "spec.copies[1].name"}
	if !slices.Equal(got, want) {
		t.Errorf("refused are %q, want %q", got, want)
	}
}
