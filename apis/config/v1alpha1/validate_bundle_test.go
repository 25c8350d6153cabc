// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateBundle(t *testing.T) {
	store := func(key string) *TrustStore { return &TrustStore{Key: key} }
	guard := InjectionTarget{Kind: InjectValidatingWebhook, Name: "guard"}
	for name, test := range map[string]struct {
		formats *AdditionalFormats
		targets []InjectionTarget
		// want are the fields that are refused.
		want []string
	}{
		"nothing":               {nil, nil, nil},
		"both formats":          {&AdditionalFormats{PKCS12: store("a.p12"), JKS: store("a.jks")}, nil, nil},
		"two targets of a name": {nil, []InjectionTarget{guard, {Kind: InjectMutatingWebhook, Name: "guard"}}, nil},
		"one key for both":      {&AdditionalFormats{PKCS12: store("a"), JKS: store("a")}, nil, []string{"spec.trustDomains[0].bundle.additionalFormats.jks.key"}},
		"the key of the PEM":    {&AdditionalFormats{PKCS12: store("ca-bundle.crt")}, nil, []string{"spec.trustDomains[0].bundle.additionalFormats.pkcs12.key"}},
		"the key of hashes":     {&AdditionalFormats{JKS: store("superseded-contents")}, nil, []string{"spec.trustDomains[0].bundle.additionalFormats.jks.key"}},
		"no key":                {&AdditionalFormats{JKS: store("")}, nil, []string{"spec.trustDomains[0].bundle.additionalFormats.jks.key"}},
		"a target twice":        {nil, []InjectionTarget{guard, guard}, []string{"spec.trustDomains[0].bundle.injectInto[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := validConfig()
			spec.TrustDomains[0].Bundle.AdditionalFormats, spec.TrustDomains[0].Bundle.InjectInto = test.formats, test.targets
			var got []string
			for _, err := range Validate(spec, "ns") {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStoreDefaults(t *testing.T) {
	spec := validConfig()
	spec.TrustDomains[0].Bundle.AdditionalFormats = &AdditionalFormats{PKCS12: &TrustStore{Key: "a"}, JKS: &TrustStore{Key: "b", Password: "own words"}}
	SetDefaults(spec)
	formats := spec.TrustDomains[0].Bundle.AdditionalFormats
	if formats.PKCS12.Password != "changeit" || formats.JKS.Password != "own words" {
		t.Errorf("passwords %q and %q", formats.PKCS12.Password, formats.JKS.Password)
	}
}
