// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// TestCheckOnServer: the guard of a cluster answers for an edit in a file, and nothing is changed.
func TestCheckOnServer(t *testing.T) {
	d := newDemo(t, "check")
	guarded := []byte(`{"metadata": {"labels": {"certrotation.dev/guard": "enabled"}}}`)
	if _, err := d.client.CoreV1().Namespaces().Patch(t.Context(), d.namespace, types.MergePatchType, guarded, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	bundle, err := d.client.CoreV1().ConfigMaps(d.namespace).Get(t.Context(), "service-ca-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bundle.APIVersion, bundle.Kind = "v1", "ConfigMap"
	for name, tt := range map[string]struct {
		text string
		code int
		says string
	}{
		"as it is": {text: bundle.Data["ca-bundle.crt"], says: "0 errors"},
		"emptied":  {code: 1, says: "NeverEmpty"},
	} {
		t.Run(name, func(t *testing.T) {
			edited := bundle.DeepCopy()
			edited.Data["ca-bundle.crt"] = tt.text
			text, err := yaml.Marshal(edited)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "bundle.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			eventually(t, "an answer of the guard", func(ctx context.Context) error {
				out, code := d.plugin(ctx, "check", "-f", file, "--server")
				if code != tt.code || !strings.Contains(out, tt.says) {
					return fmt.Errorf("exit code %d: %s", code, out)
				}
				return nil
			})
		})
	}
	after, err := d.client.CoreV1().ConfigMaps(d.namespace).Get(t.Context(), bundle.Name, metav1.GetOptions{})
	if err != nil || after.ResourceVersion != bundle.ResourceVersion {
		t.Errorf("the bundle has the version %s, was %s: %v", after.ResourceVersion, bundle.ResourceVersion, err)
	}
}
