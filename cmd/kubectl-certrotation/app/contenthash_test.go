// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
)

func TestContentHash(t *testing.T) {
	c := newCluster(t, true)
	bundle, err := c.api.Client.CoreV1().ConfigMaps("demo").Get(t.Context(), "web-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := c.api.Client.CoreV1().Secrets("demo").Get(t.Context(), "web-client", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for object, want := range map[string]string{
		"configmap/web-bundle": contenthash.OfConfigMap(bundle), "cm/web-bundle": contenthash.OfConfigMap(bundle), "secret/web-client": contenthash.OfSecret(secret),
	} {
		c.out.Reset()
		if got := c.ok(t, "content-hash", object); got != want+"\n" {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
	c.refused(t, `"none" not found`, "content-hash", "secret/none")
	for _, object := range []string{"web-bundle", "secret/", "pod/web"} {
		c.refused(t, "give secret/NAME or configmap/NAME", "content-hash", object)
	}
}
