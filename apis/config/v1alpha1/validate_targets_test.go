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
				p.ForEachNode, p.Members, p.Presents = &metav1.LabelSelector{}, []string{"a"}, []string{"web-client"}
			}),
			want: []string{
				"FieldValueForbidden " + party + ".members", "FieldValueForbidden " + party + ".forEachNode",
				"FieldValueForbidden " + party + ".members", "FieldValueForbidden " + party + ".presents",
			},
		},
		{
			name: "pods",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) {
				p.Pods = &PodMembers{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
			}),
			want: []string{"FieldValueForbidden " + party + ".pods"},
		},
		{
			name:   "it verifies nothing",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) { p.Verifies = LeafSelection{Nothing: true} }),
			want:   []string{"FieldValueInvalid " + party + ".verifies.nothing"},
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
			want:   []string{"FieldValueRequired " + party + ".evidence.caBundle"},
			detail: "minimumDelay",
		},
		{
			name:   "no delay",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) { p.Evidence.CABundle.MinimumDelay = metav1.Duration{} }),
			want:   []string{"FieldValueInvalid " + party + ".evidence.caBundle.minimumDelay"},
		},
		{
			name: "its parameters with another kind",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) {
				p.Evidence.Kind = EvidenceAcknowledgement
			}),
			want: []string{"FieldValueForbidden " + party + ".evidence.caBundle"},
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

func TestDefinitionOfTargetMembers(t *testing.T) {
	d := readDefinition(t, "rotationconfigurations")
	for name, test := range map[string]struct {
		mutate func(*TrustDomain, *RelyingParty)
		detail string
	}{
		"as it should be": {func(*TrustDomain, *RelyingParty) {}, ""},
		"members":         {func(_ *TrustDomain, p *RelyingParty) { p.Members = []string{"a"} }, "takes no forEachNode, pods, members and presents"},
		"leaves":          {func(_ *TrustDomain, p *RelyingParty) { p.Presents = []string{"web-client"} }, "takes no forEachNode, pods, members and presents"},
		"no parameters":   {func(_ *TrustDomain, p *RelyingParty) { p.Evidence.CABundle = nil }, "say after which delay it does"},
		"another kind":    {func(_ *TrustDomain, p *RelyingParty) { p.Evidence.Kind = EvidenceAcknowledgement }, "say after which delay it does"},
		"no delay":        {func(_ *TrustDomain, p *RelyingParty) { p.Evidence.CABundle.MinimumDelay = metav1.Duration{} }, "between 1s and 8760h"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := validConfig()
			hooked(test.mutate)(spec)
			errs := d.judge(t, configuration(spec))
			if (test.detail == "") != (len(errs) == 0) || len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), test.detail) {
				t.Errorf("want an error about %q, got %v", test.detail, errs.ToAggregate())
			}
		})
	}
}
