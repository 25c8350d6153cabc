// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestLoadGolden loads every testdata/NAME.yaml for the namespace "ns" and compares with testdata/NAME.golden.yaml.
// Run with -update to write the latter.
func TestLoadGolden(t *testing.T) {
	update := flag.Lookup("update").Value.String() == "true"
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range inputs {
		if strings.HasSuffix(input, ".golden.yaml") {
			continue
		}
		t.Run(filepath.Base(input), func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := decodeAndLoad(data)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(input, ".yaml") + ".golden.yaml"
			if update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
			again, err := decodeAndLoad(got)
			if err != nil {
				t.Fatalf("what Load returned is not valid itself: %v", err)
			}
			if diff := cmp.Diff(cfg, again); diff != "" {
				t.Errorf("a second Load changes the configuration (-first +second):\n%s", diff)
			}
		})
	}
}

// decodeAndLoad returns the object of a file with its spec loaded for the namespace "ns".
func decodeAndLoad(data []byte) (*RotationConfiguration, error) {
	cfg, err := Decode(data)
	if err != nil {
		return nil, err
	}
	spec, err := Load(&cfg.Spec, "ns")
	if err != nil {
		return nil, err
	}
	cfg.Spec = *spec
	return cfg, nil
}

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
		{name: "no name", cfg: RotationConfigurationSpec{Preset: &Preset{}}, want: []string{"FieldValueRequired spec.preset.name"}},
		{
			name:   "unknown name",
			cfg:    RotationConfigurationSpec{Preset: &Preset{Name: "kafka"}},
			want:   []string{"FieldValueNotSupported spec.preset.name"},
			detail: `"mtls-service"`,
		},
		{
			name: "mtls-service without parameters",
			cfg:  RotationConfigurationSpec{Preset: &Preset{Name: PresetMTLSService}},
			want: []string{"FieldValueRequired " + params},
		},
		{
			name: "mtls-service with empty parameters",
			cfg:  RotationConfigurationSpec{Preset: &Preset{Name: PresetMTLSService, MTLSService: &MTLSServicePreset{}}},
			want: []string{"FieldValueRequired " + params + ".clients", "FieldValueRequired " + params + ".serverAddresses"},
		},
		{
			name: "mtls-service with bad parameters",
			cfg: RotationConfigurationSpec{Preset: mtlsPreset(func(p *MTLSServicePreset) {
				p.Name, p.Key, p.ServerName = "a.b", "DSA", "no name"
				p.Clients = []string{"a.b", "c", "c"}
				p.DNSNames, p.IPAddresses, p.ServerAddresses = []string{"a b"}, []string{"1"}, []string{"1"}
			})},
			want: []string{
				"FieldValueInvalid " + params + ".name",
				"FieldValueInvalid " + params + ".clients[0]",
				"FieldValueDuplicate " + params + ".clients[2]",
				"FieldValueInvalid " + params + ".dnsNames[0]",
				"FieldValueInvalid " + params + ".ipAddresses[0]",
				"FieldValueInvalid " + params + ".serverAddresses[0]",
				"FieldValueInvalid " + params + ".serverName",
				"FieldValueNotSupported " + params + ".key",
			},
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
			name: "parameters of another preset",
			cfg: RotationConfigurationSpec{Preset: &Preset{
				Name: PresetOpenShiftEtcd, MTLSService: &MTLSServicePreset{},
			}},
			want: []string{"FieldValueForbidden " + params},
		},
		{
			name: "parameters of another preset",
			cfg: RotationConfigurationSpec{Preset: &Preset{
				Name: PresetMTLSService, MTLSService: mtlsPreset(func(*MTLSServicePreset) {}).MTLSService, OpenShiftEtcd: &OpenShiftEtcdPreset{},
			}},
			want: []string{"FieldValueForbidden spec.preset.openshiftEtcd"},
		},
		{
			name: "openshift-etcd with bad parameters",
			cfg: RotationConfigurationSpec{Preset: &Preset{Name: PresetOpenShiftEtcd, OpenShiftEtcd: &OpenShiftEtcdPreset{
				Key: "DSA", NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}},
			}}},
			want: []string{"FieldValueInvalid spec.preset.openshiftEtcd.nodeSelector.matchLabels", "FieldValueNotSupported spec.preset.openshiftEtcd.key"},
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
			errs := Validate(&tc.cfg, "ns")
			if diff := cmp.Diff(tc.want, summary(errs)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if len(errs) > 0 && !strings.Contains(errs[0].Error(), tc.detail) {
				t.Errorf("message %q does not contain %q", errs[0].Error(), tc.detail)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	for name, cfg := range map[string]*RotationConfigurationSpec{
		"a preset that is not known": {Preset: &Preset{Name: "kafka"}},
		"two aggregates":             {Preset: &Preset{Name: PresetOpenShiftEtcd}, Aggregate: &Aggregate{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := expand(cfg, "ns"); err == nil {
				t.Errorf("expanded to %+v", got)
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
	got, err := expand(cfg, "ns")
	if err != nil {
		t.Fatal(err)
	}
	server := &got.TrustDomains[0].Leaves[0]
	server.DNSNames[0], server.IPAddresses[0] = "changed", "changed"
	got.TrustDomains[0].RelyingParties[0].Evidence.TLSProbe.Endpoints[0].Address = "changed"
	if diff := cmp.Diff(before, cfg); diff != "" {
		t.Errorf("the input changed (-want +got):\n%s", diff)
	}
}

func TestLoadReportsPathsOfTheObject(t *testing.T) {
	_, err := decodeAndLoad([]byte(header + `
spec:
  preset: {name: openshift-etcd}
  trustDomains:
  - name: mine
    signer: {secretName: etcd-signer}
    bundle: {configMapName: mine}
`))
	if err == nil {
		t.Fatal("loaded")
	}
	if diff := cmp.Diff([]string{"FieldValueInvalid spec.trustDomains[0].signer.secretName"}, fieldErrors(t, err)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if want := "claimed by spec.preset[etcd].signer.secretName"; !strings.Contains(err.Error(), want) {
		t.Errorf("message %q does not contain %q", err, want)
	}
}
