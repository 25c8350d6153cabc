// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// begin makes the ClusterTrustBundle with the current content of the bundle, as a user does.
func (w *world) begin(signerName string) {
	w.register(trustBundle, annotated(home+"/"+bundleName))
	w.edit(trustBundle, func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"theirs": "stays"})
		o.Object["spec"] = map[string]any{"trustBundle": w.configMap(bundleName).Data[inventory.BundleKey]}
		if signerName != "" {
			o.Object["spec"].(map[string]any)["signerName"] = signerName
		}
	})
}

// TestTrustBundleGoesOn: a target that holds the bundle is not written. It gets new anchors of the bundle, and
// nothing else of it changes.
func TestTrustBundleGoesOn(t *testing.T) {
	for name, signerName := range map[string]string{"of no signer": "", "of a signer": "certrotation.dev/ca-bundles"} {
		t.Run(name, func(t *testing.T) {
			w, c := settled(t)
			w.begin(signerName)
			w.look(c, trustBundle)
			if len(w.wrote) > 0 {
				t.Errorf("writes %v where nothing was to do", w.wrote)
			}
			next, err := pki.NewAuthority(pki.Profile{CommonName: "next", Key: pki.ECDSAP256, Validity: time.Hour}, w.clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			want := w.stored(trustBundle)
			w.publish(w.domain().Signer.Active, next.Certificate)
			w.look(c, trustBundle)
			got := w.stored(trustBundle)
			want.SetResourceVersion(got.GetResourceVersion())
			want.SetGeneration(got.GetGeneration())
			want.Object["spec"].(map[string]any)["trustBundle"] = w.configMap(bundleName).Data[inventory.BundleKey]
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			w.publish()
			w.look(c, trustBundle)
			if diff := cmp.Diff(want.Object, w.stored(trustBundle).Object); diff != "" {
				t.Errorf("an empty bundle has changed it (-want +got):\n%s", diff)
			}
		})
	}
}
