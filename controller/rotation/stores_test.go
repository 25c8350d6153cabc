// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// javaConfig asks for both trust stores, one of them with its own password, and for the PEM under another key.
var javaConfig = strings.Replace(webConfig, "bundle: {configMapName: web-bundle}",
	"bundle: {configMapName: web-bundle, additionalKeys: [ca.crt], additionalFormats: {jks: {key: web.jks}, pkcs12: {key: web.p12, password: secret words}}}", 1)

// wantStores fails unless the trust stores have the same anchors as the PEM.
func (w *world) wantStores() {
	w.t.Helper()
	bundle := w.configMap(bundleName)
	anchors, err := pki.ParseBundle([]byte(bundle.Data[inventory.BundleKey]))
	if err != nil {
		w.t.Fatal(err)
	}
	if bundle.Data["ca.crt"] != bundle.Data[inventory.BundleKey] {
		w.t.Errorf("ca.crt does not have the %d anchors of the bundle", len(anchors))
	}
	for key, store := range map[string]trust.TrustStore{
		"web.jks": {Format: truststore.JKS, Password: "changeit"}, "web.p12": {Format: truststore.PKCS12, Password: "secret words"},
	} {
		want, err := truststore.Encode(store.Format, store.Password, anchors)
		if err != nil {
			w.t.Fatal(err)
		}
		if !bytes.Equal(want, bundle.BinaryData[key]) {
			w.t.Errorf("%s does not have the %d anchors of the bundle", key, len(anchors))
		}
	}
}

// TestTrustStoresFollowTheBundle: after every write, the trust stores have the anchors of the PEM.
func TestTrustStoresFollowTheBundle(t *testing.T) {
	w := newWorld(t, javaConfig)
	bundles := 0
	w.api.Admit = func(r *apifake.Request) error {
		bundle, ok := r.Object.(*corev1.ConfigMap)
		if !ok || bundle.Name != bundleName {
			return nil
		}
		bundles++
		if len(bundle.BinaryData) != 2 {
			t.Errorf("write %d of the bundle has the trust stores %d", bundles, len(bundle.BinaryData))
		}
		return nil
	}
	c := w.controller()
	w.settle(c)
	w.wantStores()
	w.request(trust.RequestRotate, signerName)
	for range 4 {
		w.settle(c)
		w.wantStores()
	}
	if stage := trust.Assess(w.domain(), w.clock.Now()).Stage; stage != trust.Stable || bundles < 3 {
		t.Errorf("%s after %d writes of the bundle", stage, bundles)
	}
}

func TestTrustStoresAreMended(t *testing.T) {
	for name, edit := range map[string]func(*corev1.ConfigMap){
		"edited":          func(cm *corev1.ConfigMap) { cm.BinaryData["web.p12"] = []byte("anything") },
		"deleted":         func(cm *corev1.ConfigMap) { delete(cm.BinaryData, "web.jks") },
		"written as text": func(cm *corev1.ConfigMap) { delete(cm.BinaryData, "web.jks"); cm.Data["web.jks"] = "text" },
		"a key cut down":  func(cm *corev1.ConfigMap) { cm.Data["ca.crt"] = "" },
		"not named":       func(cm *corev1.ConfigMap) { delete(cm.Annotations, trust.AnnotationTrustStores) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, javaConfig)
			c := w.controller()
			w.settle(c)
			before := w.configMap(bundleName)
			edited := before.DeepCopy()
			edit(edited)
			w.put(edited)
			w.settle(c)
			after := w.configMap(bundleName)
			if diff := cmp.Diff(before.BinaryData, after.BinaryData); diff != "" {
				t.Errorf("trust stores (-want +got):\n%s", diff)
			}
			for _, cm := range []*corev1.ConfigMap{before, after} {
				delete(cm.Data, contenthash.SupersededKey)
			}
			if diff := cmp.Diff(before.Data, after.Data); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if writes := w.settle(c); writes > 0 {
				t.Errorf("%d writes at rest", writes)
			}
		})
	}
}

// TestTrustStoresThatNobodyWants: unwanted trust stores are removed, and foreign data in the bundle stay.
func TestTrustStoresThatNobodyWants(t *testing.T) {
	w := newWorld(t, javaConfig)
	c := w.controller()
	w.settle(c)
	bundle := w.configMap(bundleName)
	bundle.BinaryData["theirs"] = []byte("stays")
	w.put(bundle)
	cfg := w.configuration()
	cfg.Spec.TrustDomains[0].Bundle.AdditionalFormats, cfg.Spec.TrustDomains[0].Bundle.AdditionalKeys = nil, nil
	w.put(cfg)
	w.settle(c)
	after := w.configMap(bundleName)
	if diff := cmp.Diff(map[string][]byte{"theirs": []byte("stays")}, after.BinaryData); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(bundle.Data[inventory.BundleKey], after.Data[inventory.BundleKey]); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if text, ok := after.Annotations[trust.AnnotationTrustStores]; ok {
		t.Errorf("it is still said that there are %s", text)
	}
}
