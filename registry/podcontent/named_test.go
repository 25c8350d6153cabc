// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/edition"
)

// TestNamedByKustomize uses names from the real generators.
func TestNamedByKustomize(t *testing.T) {
	files := filesys.MakeFsInMemory()
	for name, content := range map[string]string{
		"/ca.pem": "-----BEGIN CERTIFICATE-----\na<b>&\n", "/tls.crt": "certificate", "/tls.key": "key", "/raw": "\xff\xfe\x00",
		"/kustomization.yaml": `
namePrefix: prod-
generatorOptions: {immutable: true, annotations: {certrotation.dev/configuration: web}}
configMapGenerator:
- {name: bundle, files: [ca-bundle.crt=ca.pem]}
- {name: mixed, files: [raw, ca-bundle.crt=ca.pem]}
- {name: binary, files: [raw]}
secretGenerator:
- {name: leaf, type: kubernetes.io/tls, files: [tls.crt, tls.key]}
- {name: opaque, files: [tls.crt]}
`,
	} {
		if err := files.WriteFile(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range made.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if resource.GetKind() == "Secret" {
			secret := &corev1.Secret{}
			if err := yaml.UnmarshalStrict(text, secret); err != nil {
				t.Fatal(err)
			}
			expectNamed(t, secret.Name, namedSecret(secret))
			secret.Data["tls.crt"][0]++
			expectUnnamed(t, secret.Name, namedSecret(secret))
			continue
		}
		cm := &corev1.ConfigMap{}
		if err := yaml.UnmarshalStrict(text, cm); err != nil {
			t.Fatal(err)
		}
		expectNamed(t, cm.Name, namedConfigMap(cm))
		cm.BinaryData = map[string][]byte{"another": nil}
		expectUnnamed(t, cm.Name, namedConfigMap(cm))
	}
	if made.Size() != 5 {
		t.Errorf("%d objects were made, want 5", made.Size())
	}
}

// expectNamed requires that the name is derived from the content. expectUnnamed requires the opposite.
func expectNamed(t *testing.T, name string, n *named) {
	t.Helper()
	if !n.byContent() {
		t.Errorf("%s is not taken for a name by its content", name)
	}
}

func expectUnnamed(t *testing.T, name string, n *named) {
	t.Helper()
	if n.byContent() {
		t.Errorf("%s is taken for a name by another content", name)
	}
}

func TestNamedByContent(t *testing.T) {
	content := map[string][]byte{"a": []byte("one"), "b": []byte("two")}
	hash := contenthash.OfSecret(&corev1.Secret{Data: content})
	for name, want := range map[string]bool{
		"bundle-" + hash[:8]:        true,
		"bundle-" + hash[:16]:       true,
		"my-bundle-" + hash[:20]:    true,
		hash[:16]:                   false,
		"bundle-" + hash[:7]:        false,
		"bundle." + hash[:16]:       false,
		"bundle-" + hash[1:17]:      false,
		"bundle-" + hash[:16] + "x": false,
		// Gardener's MakeUnique appends the hash of the hashes of the values.
		"bundle-298315b0":  true,
		"bundle-298315b":   false,
		"bundle-298315b0a": false,
		"bundle":           false,
		"bundle-":          false,
		"":                 false,
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: content}
		if got := namedSecret(secret).byContent(); got != want {
			t.Errorf("Secret %q: %t, want %t", name, got, want)
		}
		cm := &corev1.ConfigMap{ObjectMeta: secret.ObjectMeta, Data: map[string]string{"a": "one"}, BinaryData: map[string][]byte{"b": []byte("two")}}
		if got := namedConfigMap(cm).byContent(); got != want {
			t.Errorf("ConfigMap %q: %t, want %t", name, got, want)
		}
	}
}

// TestNamedByKubectl uses names from `kubectl create configmap --append-hash`.
func TestNamedByKubectl(t *testing.T) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bundle-8g442492h2"}, Data: map[string]string{"a": "one", "b": "two"}}
	expectNamed(t, cm.Name, namedConfigMap(cm))
	cm.Data["a"] = "three"
	expectUnnamed(t, cm.Name, namedConfigMap(cm))
	cm.Data["a"], cm.Name = "one", "other-8g442492h2"
	expectUnnamed(t, cm.Name, namedConfigMap(cm))
}

// TestNamedByTheirBundle: Gardener's SecretsManager names a bundle by the configuration that contains it.
func TestNamedByTheirBundle(t *testing.T) {
	content := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	data := map[string][]byte{"bundle.crt": []byte(content)}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: edition.BundleObject("ca-bundle", data)}, Data: data}
	expectNamed(t, secret.Name, namedSecret(secret))
	secret.Data["bundle.crt"] = []byte(content + content)
	expectUnnamed(t, secret.Name, namedSecret(secret))
}
