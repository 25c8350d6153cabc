// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onLeaf mutates the leaf web-server.
func onLeaf(mutate func(*Leaf)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) { mutate(&c.TrustDomains[0].Leaves[0]) }
}

// onNodeLeaf mutates the leaf node-{node}, and drops what refers to it by name.
func onNodeLeaf(mutate func(*Leaf)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) {
		mutate(&c.TrustDomains[1].Leaves[0])
		c.TrustDomains[1].RelyingParties = c.TrustDomains[1].RelyingParties[1:]
		c.Aggregate.Leaves = []string{"web-server"}
	}
}

func TestValidateLeaves(t *testing.T) {
	runValidateCases(t, []validateCase{
		{
			name:   "name with two placeholders",
			mutate: onNodeLeaf(func(l *Leaf) { l.SecretName = "{node}-{node}" }),
			want:   []string{"FieldValueInvalid spec.trustDomains[1].leaves[0].secretName"},
			detail: "exactly once",
		},
		{
			name:   "name around the placeholder is bad",
			mutate: onNodeLeaf(func(l *Leaf) { l.SecretName = "Node-{node}" }),
			want:   []string{"FieldValueInvalid spec.trustDomains[1].leaves[0].secretName"},
			detail: `"Node-{node}"`,
		},
		{
			name: "a password in a Secret that cannot exist",
			mutate: onLeaf(func(l *Leaf) {
				l.Keystores = &Keystores{JKS: &Keystore{Key: "a", PasswordSecretRef: PasswordSecretRef{Name: "a,type=x", Key: "p"}}}
			}),
			want: []string{"FieldValueInvalid spec.trustDomains[0].leaves[0].keystores.jks.passwordSecretRef.name"},
		},
		{
			name: "a keystore and a trust store with one key",
			mutate: onLeaf(func(l *Leaf) {
				ref := PasswordSecretRef{Name: "password", Key: "p"}
				l.Keystores = &Keystores{PKCS12: &Keystore{Key: "a", PasswordSecretRef: ref}, JKS: &Keystore{Key: "b", PasswordSecretRef: ref}}
				l.AdditionalFormats = &AdditionalFormats{JKS: &TrustStore{Key: "b"}}
			}),
			want: []string{"FieldValueDuplicate spec.trustDomains[0].leaves[0].keystores.jks.key"},
		},
		{
			name: "passwords in too many Secrets",
			mutate: func(c *RotationConfigurationSpec) {
				d := &c.TrustDomains[0]
				for i := range maxPasswordSecrets + 1 {
					leaf := *d.Leaves[0].DeepCopy()
					leaf.SecretName = fmt.Sprintf("more-%d", i)
					leaf.Keystores = &Keystores{PKCS12: &Keystore{Key: "a", PasswordSecretRef: PasswordSecretRef{Name: leaf.SecretName, Key: "p"}}}
					d.Leaves = append(d.Leaves, leaf)
				}
			},
			want:   []string{fmt.Sprintf("FieldValueInvalid spec.trustDomains[0].leaves[%d].keystores.pkcs12.passwordSecretRef.name", maxPasswordSecrets+2)},
			detail: "at most 64 Secrets",
		},
		{
			name: "bad node selector",
			mutate: onNodeLeaf(func(l *Leaf) {
				l.ForEachNode = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
			}),
			want: []string{"FieldValueInvalid spec.trustDomains[1].leaves[0].forEachNode.matchLabels"},
		},
		{
			name:   "no identity",
			mutate: onLeaf(func(l *Leaf) { l.DNSNames, l.IPAddresses = nil, nil }),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].leaves[0]"}, detail: "a name, an address or a URI",
		},
		{
			name:   "common name too long",
			mutate: onLeaf(func(l *Leaf) { l.CommonName = strings.Repeat("ä", 65) }),
			want:   []string{"FieldValueTooLong spec.trustDomains[0].leaves[0].commonName"},
		},
		{
			name:   "common name of 64 characters",
			mutate: onLeaf(func(l *Leaf) { l.CommonName = strings.Repeat("ä", 64) }),
		},
		{
			name:   "common name with a line break",
			mutate: onLeaf(func(l *Leaf) { l.CommonName = "a\nb" }),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].leaves[0].commonName"},
		},
		{
			name:   "common name with the placeholder",
			mutate: onLeaf(func(l *Leaf) { l.CommonName = "a-{node}" }),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].leaves[0].commonName"},
		},
		{
			name:   "organizations",
			mutate: onLeaf(func(l *Leaf) { l.Organizations = []string{"", strings.Repeat("o", 65)} }),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].leaves[0].organizations[0]", "FieldValueTooLong spec.trustDomains[0].leaves[0].organizations[1]"},
		},
		{
			name:   "DNS names",
			mutate: onLeaf(func(l *Leaf) { l.DNSNames = []string{"ok.example", "not ok", "*.*.example", "10.0.0.1", "web.example"} }),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].leaves[0].dnsNames[1]", "FieldValueInvalid spec.trustDomains[0].leaves[0].dnsNames[2]", "FieldValueInvalid spec.trustDomains[0].leaves[0].dnsNames[3]"},
		},
		{
			name: "a name twice, and an address",
			mutate: onLeaf(func(l *Leaf) {
				l.DNSNames, l.IPAddresses = []string{"ok.example", "ok.example"}, []string{"::1", "::1"}
			}),
			want: []string{"FieldValueDuplicate spec.trustDomains[0].leaves[0].dnsNames[1]", "FieldValueDuplicate spec.trustDomains[0].leaves[0].ipAddresses[1]"},
		},
		{
			name:   "addresses",
			mutate: onLeaf(func(l *Leaf) { l.IPAddresses = []string{"10.0.0.256", "010.0.0.1", "::1"} }),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].leaves[0].ipAddresses[0]", "FieldValueInvalid spec.trustDomains[0].leaves[0].ipAddresses[1]"},
		},
		{
			name:   "a usage twice",
			mutate: onLeaf(func(l *Leaf) { l.Usages = []Usage{ServerAuth, ServerAuth} }),
			want:   []string{"FieldValueDuplicate spec.trustDomains[0].leaves[0].usages[1]"},
		},
	})
}

// onPolicy mutates the policy of the signer web-signer.
func onPolicy(mutate func(*IssuancePolicy)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) { mutate(&c.TrustDomains[0].Signer.Policy) }
}

func TestValidatePolicies(t *testing.T) {
	runValidateCases(t, []validateCase{
		{
			name:   "a short signer shortens the default of its leaves",
			mutate: onPolicy(func(p *IssuancePolicy) { p.Validity = duration(time.Minute) }),
		},
		{
			name:   "renewal below the range",
			mutate: onPolicy(func(p *IssuancePolicy) { p.RenewAtPercent = -1 }),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].signer.policy.renewAtPercent"},
		},
		{
			name: "renewal at the ends of the range",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].Signer.Policy.RenewAtPercent, c.TrustDomains[1].Signer.Policy.RenewAtPercent = 1, 99
			},
		},
		{
			name: "leaf that is meant to outlive its signer",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].Signer.Policy.Validity = duration(time.Hour)
				c.TrustDomains[0].Leaves[1].Policy.Validity = duration(2 * time.Hour)
			},
			want:   []string{"FieldValueInvalid spec.trustDomains[0].leaves[1].policy.validity"},
			detail: "1h0m0s",
		},
	})
}
