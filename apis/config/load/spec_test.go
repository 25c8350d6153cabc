// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/yaml"

	"certrotation.dev/apis/config/v1alpha1"
)

// TestSpecGolden loads every testdata/NAME.yaml for the namespace "ns" and compares with testdata/NAME.golden.yaml.
// Run with -update to write the latter.
func TestSpecGolden(t *testing.T) {
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
				t.Fatalf("what Spec returned is not valid itself: %v", err)
			}
			if diff := cmp.Diff(cfg, again); diff != "" {
				t.Errorf("a second Spec changes the configuration (-first +second):\n%s", diff)
			}
		})
	}
}

// decodeAndLoad returns the object of a file with its spec loaded for the namespace "ns".
func decodeAndLoad(data []byte) (*v1alpha1.RotationConfiguration, error) {
	cfg, err := Decode(data)
	if err != nil {
		return nil, err
	}
	spec, err := Spec(&cfg.Spec, "ns")
	if err != nil {
		return nil, err
	}
	cfg.Spec = *spec
	return cfg, nil
}

// TestConfigurationsOfTheTree: what is installed and every sample load.
func TestConfigurationsOfTheTree(t *testing.T) {
	for pattern, atLeast := range map[string]int{"../../../manifests/base/configuration.yaml": 1, "../../../manifests/samples/*/configuration.yaml": 3} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < atLeast {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decodeAndLoad(data); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestSpecAsksBoth: the definition, and Validate. A spec that is refused once is refused again.
func TestSpecAsksBoth(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"the definition": {"{}", "give a trust domain or a preset"},
		"Validate":       {"{preset: {name: kubeadm-etcd, kubeadmEtcd: {clients: [a.b]}}}", "spec.preset.kubeadmEtcd.clients[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				_, err := decodeAndLoad([]byte(header + "spec: " + tc.spec + "\n"))
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want an error with %q", err, tc.want)
				}
			}
		})
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
    relyingParties: [{name: a, evidence: {kind: acknowledgement}}]
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
