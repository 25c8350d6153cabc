// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hooked adds kube-apiserver as a party that verifies the server of the domain web by caBundle.
func hooked(mutate func(*TrustDomain, *RelyingParty)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) {
		web := &c.TrustDomains[0]
		web.Bundle.InjectInto = []InjectionTarget{{Kind: InjectAPIService, Name: "v1.example.com"}}
		web.RelyingParties = append(web.RelyingParties, RelyingParty{
			Name: "kube-apiserver", Verifies: LeafSelection{Usages: []Usage{ServerAuth}},
			Evidence: Evidence{Kind: EvidenceCABundle, CABundle: &CABundleEvidence{MinimumDelay: *duration(time.Second)}},
		})
		mutate(web, &web.RelyingParties[2])
	}
}

func TestValidateTargetMembers(t *testing.T) {
	const web, party = "spec.trustDomains[0]", "spec.trustDomains[0].relyingParties[2]"
	runValidateCases(t, []validateCase{
		{name: "the targets of the bundle", mutate: hooked(func(*TrustDomain, *RelyingParty) {})},
		{
			name:   "a bundle without targets",
			mutate: hooked(func(d *TrustDomain, _ *RelyingParty) { d.Bundle.InjectInto = nil }),
			want:   []string{"FieldValueInvalid " + party + ".evidence.kind"},
			detail: "injectInto of the bundle, which names none",
		},
		{
			name: "a bundle whose target is for pods",
			mutate: hooked(func(d *TrustDomain, _ *RelyingParty) {
				d.Bundle.InjectInto = []InjectionTarget{{Kind: InjectTrustBundle, Name: "web"}}
			}),
			want:   []string{"FieldValueInvalid " + party + ".evidence.kind"},
			detail: "injectInto of the bundle, which names none",
		},
		{
			name: "members of other sorts",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) {
				p.Members, p.Presents = []string{"a"}, []string{"web-client"}
			}),
			want: []string{"FieldValueInvalid " + party}, detail: "takes no forEachNode, pods, members and presents",
		},
		{
			name: "pods",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) {
				p.Pods = &PodMembers{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
			}),
			want: []string{"FieldValueInvalid " + party},
		},
		{
			name:   "it verifies nothing",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) { p.Verifies = LeafSelection{Nothing: true} }),
			want:   []string{"FieldValueInvalid " + party},
		},
		{
			name: "a name that makes none",
			mutate: hooked(func(d *TrustDomain, _ *RelyingParty) {
				d.Bundle.InjectInto[0].Name = strings.Repeat("n", 243)
			}),
			want:   []string{"FieldValueInvalid " + party + ".evidence.kind"},
			detail: "1 characters too many",
		},
		{
			name:   "no parameters",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) { p.Evidence.CABundle = nil }),
			want:   []string{"FieldValueInvalid " + party + ".evidence"},
			detail: "after which delay",
		},
		{
			name: "its parameters with another kind",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) {
				p.Evidence.Kind = EvidenceAcknowledgement
			}),
			want: []string{"FieldValueInvalid " + party + ".evidence"},
		},
		{
			name: "kube-apiserver is no server that verifies clients",
			mutate: hooked(func(d *TrustDomain, p *RelyingParty) {
				p.Verifies = LeafSelection{}
				d.RelyingParties[0].Verifies = LeafSelection{Nothing: true}
				d.RelyingParties[0].Evidence.TLSProbe.ClientLeaf = ""
			}),
			want:   []string{"FieldValueInvalid " + web + ".leaves[1]"},
			detail: "kube-apiserver verifies only servers by a caBundle of kube-apiserver",
		},
	})
}
