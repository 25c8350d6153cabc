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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	"certrotation.dev/registry/trust"
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

// TestReleaseOnServer: what certrotation wrote conflicts with the apply of another owner, until it is released.
func TestReleaseOnServer(t *testing.T) {
	d := newDemo(t, "release")
	const name = "made"
	bundles := d.client.CoreV1().ConfigMaps(d.namespace)
	labels := map[string]string{trust.LabelTrustDomain: "service"}
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: consent}, Data: map[string]string{"ca-bundle.crt": "of certrotation"}}
	if _, err := bundles.Create(t.Context(), made, metav1.CreateOptions{FieldManager: "certrotation-controller"}); err != nil {
		t.Fatal(err)
	}
	apply := func(dryRun ...string) (*corev1.ConfigMap, error) {
		wanted := corev1apply.ConfigMap(name, d.namespace).WithData(map[string]string{"ca-bundle.crt": "of another owner"})
		return bundles.Apply(t.Context(), wanted, metav1.ApplyOptions{FieldManager: "helm", DryRun: dryRun})
	}
	if _, err := apply(metav1.DryRunAll); !apierrors.IsConflict(err) {
		t.Fatalf("applied before the release: %v", err)
	}
	if out, code := d.plugin(t.Context(), "release", "configmap/"+name, "--yes"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	applied, err := apply()
	if err != nil {
		t.Fatalf("applied after the release: %v", err)
	}
	for _, entry := range applied.ManagedFields {
		if entry.Manager != "helm" && strings.Contains(entry.FieldsV1.String(), "f:data") {
			t.Errorf("%s still manages %s", entry.Manager, entry.FieldsV1)
		}
	}
}
