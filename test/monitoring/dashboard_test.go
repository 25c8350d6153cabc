// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// TestDashboardIsFound: manifests/dashboard is one ConfigMap with the unmodified dashboard file. The sidecar of
// Grafana finds it by its label. Its name stays the same when the dashboard changes.
func TestDashboardIsFound(t *testing.T) {
	const dir, file = "../../manifests/dashboard", "certrotation.json"
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if objects.Size() != 1 {
		t.Fatalf("%d objects, want one", objects.Size())
	}
	text, err := objects.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	var made corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &made); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(dir + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if made.Kind != "ConfigMap" || made.Name != "certrotation-dashboard" || made.Labels["grafana_dashboard"] != "1" {
		t.Errorf("it is a %s %s with the labels %v", made.Kind, made.Name, made.Labels)
	}
	if len(made.Data) != 1 || made.Data[file] != string(want) {
		t.Errorf("its data is not %s", file)
	}
}
