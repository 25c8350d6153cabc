// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const (
	farNamespace = "far"
	farUser      = "certrotation-copies"
)

// farConfiguration copies a bundle and a leaf into another cluster.
const farConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: service}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle: {configMapName: web-bundle}
    leaves:
    - {secretName: web-client, commonName: client, usages: [ClientAuth]}
    relyingParties:
    - {name: clients, presents: [web-client], evidence: {kind: none, reason: the test has none}}
  clusters:
  - {name: there, kubeconfigSecretName: there-kubeconfig}
  copies:
  - {kind: Secret, name: web-client, cluster: there, toNamespace: web, toName: client}
  - {kind: ConfigMap, name: web-bundle, cluster: there, toNamespace: web}
`

// farRights are the Namespace and the least rights of docs/operations.md.
const farRights = `
apiVersion: v1
kind: Namespace
metadata:
  name: web
  annotations: {certrotation.dev/copies-from: "far/ConfigMap/web-bundle,far/Secret/client"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: certrotation-copies, namespace: web}
rules:
- {apiGroups: [""], resources: [configmaps], resourceNames: [web-bundle], verbs: [get, update, delete]}
- {apiGroups: [""], resources: [secrets], resourceNames: [client], verbs: [get, update, delete]}
- {apiGroups: [""], resources: [configmaps, secrets], verbs: [create]}
- {apiGroups: [""], resources: [namespaces], resourceNames: [web], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: certrotation-copies, namespace: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: certrotation-copies}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: certrotation-copies}
`

// TestCopiesIntoAnotherCluster: with the least rights there, the copies are made in a second control plane, and deleted
// when the configuration drops them.
func TestCopiesIntoAnotherCluster(t *testing.T) {
	t.Parallel()
	here, there := workingPlane.use(t), barePlane.use(t)
	rights := filepath.Join(t.TempDir(), "rights.yaml")
	if err := os.WriteFile(rights, []byte(farRights), 0o600); err != nil {
		t.Fatal(err)
	}
	there.mustKubectl(t, "apply", "-f", rights)
	path, err := there.UserKubeconfig(farUser)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	makeNamespace(t, here.client, farNamespace)
	create(t, here.client, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: farNamespace, Name: "there-kubeconfig", Annotations: consent},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	})
	configure(t, here.own, farNamespace, farConfiguration)

	eventually(t, "the copies are there", func(ctx context.Context) error { return sameThere(ctx, here, there) })

	if _, err := here.own.ConfigV1alpha1().RotationConfigurations(farNamespace).Patch(t.Context(), "service", types.MergePatchType,
		[]byte(`{"spec": {"copies": null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copies are gone", func(ctx context.Context) error {
		if _, err := there.client.CoreV1().Secrets("web").Get(ctx, "client", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return cmp.Or(err, errors.New("the Secret is there"))
		}
		if _, err := there.client.CoreV1().ConfigMaps("web").Get(ctx, "web-bundle", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return cmp.Or(err, errors.New("the ConfigMap is there"))
		}
		return nil
	})
}

// sameThere compares the copies with their sources.
func sameThere(ctx context.Context, here, there *plane) error {
	leaf, err := here.client.CoreV1().Secrets(farNamespace).Get(ctx, "web-client", metav1.GetOptions{})
	if err != nil {
		return err
	}
	bundle, err := here.client.CoreV1().ConfigMaps(farNamespace).Get(ctx, "web-bundle", metav1.GetOptions{})
	if err != nil {
		return err
	}
	copied, err := there.client.CoreV1().Secrets("web").Get(ctx, "client", metav1.GetOptions{})
	if err != nil {
		return err
	}
	held, err := there.client.CoreV1().ConfigMaps("web").Get(ctx, "web-bundle", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if string(copied.Data[corev1.TLSCertKey]) != string(leaf.Data[corev1.TLSCertKey]) || held.Data[inventory.BundleKey] != bundle.Data[inventory.BundleKey] ||
		copied.Labels[trust.LabelRemoteCopyOf] == "" {
		return fmt.Errorf("the copies differ from their sources, labels %v", copied.Labels)
	}
	return nil
}
