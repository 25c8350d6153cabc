// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// TestNewAnchorsFirst: while there are two anchors, each write of the bundle's keys and of ca.crt begins with the new
// one, or with the old one if nothing else is asked for.
func TestNewAnchorsFirst(t *testing.T) {
	for place, newFirst := range map[string]bool{"First": true, "Last": false} {
		t.Run(place, func(t *testing.T) {
			w := newWorld(t, strings.Replace(javaConfig, "configMapName: web-bundle,", "configMapName: web-bundle, newAnchors: "+place+",", 1))
			c := w.controller()
			w.settle(c)
			old := w.domain().Signer.Active
			written := map[string]int{}
			wantOrder := func(file, text string) {
				anchors, err := pki.ParseBundle([]byte(text))
				if err != nil {
					t.Errorf("%s: %v", file, err)
				}
				if len(anchors) < 2 {
					return
				}
				written[file]++
				if anchors[0].Equal(old) == newFirst {
					t.Errorf("%s begins with %s", file, anchors[0].Subject)
				}
			}
			w.api.Admit = func(r *apifake.Request) error {
				switch o := r.Object.(type) {
				case *corev1.ConfigMap:
					if o.Name == bundleName {
						wantOrder(inventory.BundleKey, o.Data[inventory.BundleKey])
						wantOrder("ca.crt", o.Data["ca.crt"])
					}
				case *corev1.Secret:
					if o.Name == "web-server" {
						wantOrder("beside", string(o.Data[inventory.AuthorityKey]))
					}
				}
				return nil
			}
			w.request(trust.RequestRotate, signerName)
			for range 4 {
				w.settle(c)
				w.wantStores()
			}
			if stage := trust.Assess(w.domain(), w.clock.Now()).Stage; stage != trust.Stable || len(written) != 3 {
				t.Errorf("stage %s, files that had both: %v", stage, written)
			}
		})
	}
}
