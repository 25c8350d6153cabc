// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// TestBundleNamesWhatItHasReplaced: a pod may wait for any former content of the bundle. After a rotation it
// starts with the present one.
func TestBundleNamesWhatItHasReplaced(t *testing.T) {
	w := newWorld(t, javaConfig)
	var had []string
	w.api.Admit = func(r *apifake.Request) error {
		if bundle, ok := r.Object.(*corev1.ConfigMap); ok && bundle.Name == bundleName {
			had = append(had, contenthash.OfConfigMap(bundle))
		}
		return nil
	}
	c := w.controller()
	w.settle(c)
	w.request(trust.RequestRotate, signerName)
	for range 4 {
		w.settle(c)
	}
	bundle := w.configMap(bundleName)
	now := contenthash.ContentOfConfigMap(bundle)
	if len(slices.Compact(slices.Clone(had))) < 3 {
		t.Fatalf("the bundle had the contents %v", had)
	}
	for i, hash := range had {
		if !now.Reaches(hash) {
			t.Errorf("who names content %d waits for ever, and the bundle has %+v", i, now)
		}
	}
	if d := w.domain(); d.Bundle.ContentHash != now.Hash || !slices.Equal(d.Bundle.Superseded, now.Superseded) {
		t.Errorf("the model knows %s after %v", d.Bundle.ContentHash, d.Bundle.Superseded)
	}

	// Metadata is no content.
	bundle.Annotations[trust.AnnotationPublished] = ""
	w.put(bundle)
	w.settle(c)
	if got := contenthash.OfConfigMap(w.configMap(bundleName)); got != now.Hash {
		t.Errorf("its annotations were mended, and the content is %v", w.configMap(bundleName).Data)
	}

	// Foreign content is replaced too, and counts as a former content.
	edited := w.configMap(bundleName)
	edited.BinaryData["web.jks"] = []byte("anything")
	w.put(edited)
	w.settle(c)
	want := append([]string{contenthash.OfConfigMap(edited)}, now.Superseded...)
	if got := contenthash.ContentOfConfigMap(w.configMap(bundleName)).Superseded; !slices.Equal(got, want) {
		t.Errorf("it has replaced %v, want %v", got, want)
	}
	if _, ok := w.configMap(bundleName).Data[inventory.BundleKey]; !ok {
		t.Error("the anchors are gone")
	}
}
