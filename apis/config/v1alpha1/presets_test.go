// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func mtlsPreset(mutate func(*MTLSServicePreset)) *Preset {
	params := &MTLSServicePreset{Clients: []string{"a", "b"}, ServerAddresses: []string{"127.0.0.1:8443"}}
	mutate(params)
	return &Preset{Name: PresetMTLSService, MTLSService: params}
}

func TestValidatePresets(t *testing.T) {
	const params = "spec.preset.mtlsService"
	for _, tc := range []struct {
		name   string
		cfg    RotationConfigurationSpec
		want   []string
		detail string
	}{
		{name: "no name", cfg: RotationConfigurationSpec{Preset: &Preset{}}, want: []string{"FieldValueNotSupported spec.preset.name"}},
		{
			name: "mtls-service without parameters",
			cfg:  RotationConfigurationSpec{Preset: &Preset{Name: PresetMTLSService}},
			want: []string{"FieldValueInvalid spec.preset"},
		},
		{
			name: "mtls-service with empty parameters",
			cfg:  RotationConfigurationSpec{Preset: &Preset{Name: PresetMTLSService, MTLSService: &MTLSServicePreset{}}},
			want: []string{"FieldValueInvalid " + params, "FieldValueInvalid " + params},
		},
		{
			name: "mtls-service with bad parameters",
			cfg: RotationConfigurationSpec{Preset: mtlsPreset(func(p *MTLSServicePreset) {
				p.Name, p.ServerName = "a.b", "no name"
				p.Clients = []string{"a.b", "c"}
				p.DNSNames, p.IPAddresses, p.ServerAddresses = []string{"a b"}, []string{"1"}, []string{"1"}
			})},
			want: []string{"FieldValueInvalid " + params + ".name", "FieldValueInvalid " + params + ".clients[0]", "FieldValueInvalid " + params + ".dnsNames[0]", "FieldValueInvalid " + params + ".ipAddresses[0]", "FieldValueInvalid " + params + ".serverAddresses[0]", "FieldValueInvalid " + params + ".serverName"},
		},
		{
			name: "mtls-service with names that make no common name",
			cfg: RotationConfigurationSpec{Preset: mtlsPreset(func(p *MTLSServicePreset) {
				p.Name = strings.Repeat("n", 60)
			})},
			want: []string{
				"FieldValueTooLong " + params + ".name",
				"FieldValueInvalid " + params + ".clients[0]",
				"FieldValueInvalid " + params + ".clients[1]",
			},
		},
		{
			name: "openshift-etcd with bad parameters",
			cfg: RotationConfigurationSpec{Preset: &Preset{Name: PresetOpenShiftEtcd, OpenShiftEtcd: &OpenShiftEtcdPreset{
				NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}},
			}}},
			want: []string{"FieldValueInvalid spec.preset.openshiftEtcd.nodeSelector.matchLabels"},
		},
		{
			name: "explicit aggregate beside that of the preset",
			cfg: RotationConfigurationSpec{Preset: &Preset{Name: PresetOpenShiftEtcd}, Aggregate: &Aggregate{
				SecretName: "s", ConfigMapName: "c", Leaves: []string{"etcd-client"},
				Bundles: []AggregatedBundle{{Key: "k", ConfigMapName: "etcd-ca-bundle"}},
			}},
			want: []string{"FieldValueForbidden spec.aggregate"},
		},
		{
			name: "explicit domain that claims what the preset has",
			cfg: RotationConfigurationSpec{
				Preset: mtlsPreset(func(*MTLSServicePreset) {}),
				TrustDomains: []TrustDomain{{
					Name: "service", Signer: Signer{SecretName: "service-signer"}, Bundle: Bundle{ConfigMapName: "other"},
					RelyingParties: []RelyingParty{{Name: "somebody", Evidence: Evidence{Kind: EvidenceAcknowledgement}}},
				}},
			},
			want:   []string{"FieldValueDuplicate spec.trustDomains[0].name", "FieldValueInvalid spec.trustDomains[0].signer.secretName"},
			detail: "service",
		},
		{
			name: "explicit domain beside a preset",
			cfg: RotationConfigurationSpec{
				Preset: mtlsPreset(func(*MTLSServicePreset) {}),
				TrustDomains: []TrustDomain{{
					Name: "other", Signer: Signer{SecretName: "other-signer"}, Bundle: Bundle{ConfigMapName: "other"},
					RelyingParties: []RelyingParty{{Name: "somebody", Evidence: Evidence{Kind: EvidenceAcknowledgement}}},
				}},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := refusals(t, &tc.cfg, "ns")
			if diff := cmp.Diff(tc.want, summary(errs)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if len(errs) > 0 && !strings.Contains(errs[0].Error(), tc.detail) {
				t.Errorf("message %q does not contain %q", errs[0].Error(), tc.detail)
			}
		})
	}
}

// TestExpandSharesNothing changes what expand returned and expects the input unchanged.
func TestExpandSharesNothing(t *testing.T) {
	cfg := &RotationConfigurationSpec{Preset: mtlsPreset(func(p *MTLSServicePreset) {
		p.DNSNames, p.IPAddresses = []string{"a.example"}, []string{"10.0.0.1"}
	})}
	before := cfg.DeepCopy()
	got := expanded(t, cfg, "ns")
	server := &got.TrustDomains[0].Leaves[0]
	server.DNSNames[0], server.IPAddresses[0] = "changed", "changed"
	got.TrustDomains[0].RelyingParties[0].Evidence.TLSProbe.Endpoints[0].Address = "changed"
	if diff := cmp.Diff(before, cfg); diff != "" {
		t.Errorf("the input changed (-want +got):\n%s", diff)
	}
}
