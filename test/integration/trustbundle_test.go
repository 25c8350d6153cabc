// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// trustBundleTemplate makes a ClusterTrustBundle from the ConfigMap of a bundle, as in docs/cabundles.md.
const trustBundleTemplate = `{"apiVersion": "certificates.k8s.io/v1", "kind": "ClusterTrustBundle",` +
	` "metadata": {"name": "%s", "annotations": {"certrotation.dev/inject-ca-from": "{{.metadata.namespace}}/{{.metadata.name}}"}},` +
	` "spec": {"signerName": "%s", "trustBundle": {{index .data "ca-bundle.crt" | printf "%%q"}}}}`

// trustBundleSigners are the signer names of the ClusterTrustBundles that the configuration names.
var trustBundleSigners = map[string]string{"hook": "", "certrotation.dev:ca-bundles:hook": "certrotation.dev/ca-bundles"}

// makeTrustBundles makes the ClusterTrustBundles of the webhook, and one that its configuration does not name.
func (w *hookWorld) makeTrustBundles(t *testing.T) {
	t.Helper()
	names := map[string]string{"uninvited": ""}
	maps.Copy(names, trustBundleSigners)
	for name, signer := range names {
		made, err := w.Kubectl(t.Context(), "get", "configmap", "hook-bundle", "-n", hookNamespace, "-o", "go-template="+fmt.Sprintf(trustBundleTemplate, name, signer))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "trustbundle.json")
		if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Kubectl(t.Context(), "create", "-f", file); err != nil {
			t.Fatal(err)
		}
	}
}

// trustBundlesHold returns nil if the ClusterTrustBundles have the anchors of the bundle.
func (w *hookWorld) trustBundlesHold(ctx context.Context) error {
	bundle, err := w.client.CoreV1().ConfigMaps(hookNamespace).Get(ctx, "hook-bundle", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for name, signer := range trustBundleSigners {
		o, err := w.client.CertificatesV1().ClusterTrustBundles().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if o.Spec.TrustBundle != bundle.Data[inventory.BundleKey] || o.Spec.SignerName != signer {
			return fmt.Errorf("%s is not as the bundle: %v", name, o.Spec)
		}
	}
	return nil
}

// history has the observed versions of the ClusterTrustBundles, in order.
type history struct {
	mu   sync.Mutex
	seen []certificatesv1.ClusterTrustBundle
}

// followTrustBundles records each version of the ClusterTrustBundles until ctx ends.
func (w *hookWorld) followTrustBundles(ctx context.Context, t *testing.T, running *sync.WaitGroup) *history {
	t.Helper()
	list, err := w.client.CertificatesV1().ClusterTrustBundles().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watched, err := w.client.CertificatesV1().ClusterTrustBundles().Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	out := &history{seen: list.Items}
	running.Go(func() {
		defer watched.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event, ok := <-watched.ResultChan():
				if !ok {
					return
				}
				if o, ok := event.Object.(*certificatesv1.ClusterTrustBundle); ok {
					out.mu.Lock()
					out.seen = append(out.seen, *o)
					out.mu.Unlock()
				}
			}
		}
	})
	return out
}

// reach waits until the watch has shown the present ClusterTrustBundles.
func (h *history) reach(t *testing.T, w *hookWorld) {
	t.Helper()
	eventually(t, "the watch tells of the last write", func(ctx context.Context) error {
		list, err := w.client.CertificatesV1().ClusterTrustBundles().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for i := range list.Items {
			now := &list.Items[i]
			if !slices.ContainsFunc(h.seen, func(o certificatesv1.ClusterTrustBundle) bool {
				return o.Name == now.Name && o.ResourceVersion == now.ResourceVersion
			}) {
				return fmt.Errorf("not of %s", now.Name)
			}
		}
		return nil
	})
}

// wantOverlap asserts that each write kept an earlier anchor, and did not add and remove anchors at once. No write
// may change the ClusterTrustBundle that the configuration does not name.
func (h *history) wantOverlap(t *testing.T, rotations int) {
	t.Helper()
	before := map[string][]*pki.Certificate{}
	writes := map[string]int{}
	for i := range h.seen {
		name := h.seen[i].Name
		anchors, err := pki.ParseBundle([]byte(h.seen[i].Spec.TrustBundle))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if last, ok := before[name]; ok {
			writes[name]++
			if kept := overlap(last, anchors); kept == 0 || (len(anchors) != kept && len(last) != kept) {
				t.Errorf("%s kept %d of %d anchors and has %d", name, kept, len(last), len(anchors))
			}
		}
		before[name] = anchors
	}
	for name := range trustBundleSigners {
		if writes[name] < 2*rotations {
			t.Errorf("%s was written %d times in %d rotations", name, writes[name], rotations)
		}
	}
	if writes["uninvited"] > 0 {
		t.Errorf("a ClusterTrustBundle that the configuration does not name was written %d times", writes["uninvited"])
	}
}

func overlap(a, b []*pki.Certificate) int {
	count := 0
	for _, x := range a {
		for _, y := range b {
			if x.Equal(y) {
				count++
			}
		}
	}
	return count
}

// wantNotFound: kube-apiserver answers NotFound for a resource that it does not serve. controller/cabundle relies
// on that.
func (w *hookWorld) wantNotFound(t *testing.T) {
	t.Helper()
	client, err := metadata.NewForConfig(metadata.ConfigFor(w.AdminConfig()))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1alpha1", "v1"} {
		resource := schema.GroupVersionResource{Group: "certificates.k8s.io", Version: version, Resource: "clustertrustbundles"}
		_, err = client.Resource(resource).List(t.Context(), metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) != (version == "v1alpha1") || (version == "v1" && err != nil) {
			t.Errorf("the answer about %s is %v", resource, err)
		}
	}
}
