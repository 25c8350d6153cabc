// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"strings"
	"testing"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// unreadBlock is a block that no parser here can read.
const unreadBlock = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

// TestRotationBesideAnUnreadBlock: a person has put a CA with a negative serial number first into the bundle and into
// ca.crt of a leaf, past the guard. Everything is renewed, and the block stays where it is.
func TestRotationBesideAnUnreadBlock(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.controller()
	w.settle(c)
	bundle, leaf := w.configMap(bundleName), w.secret(serverLeaf)
	bundle.Data[inventory.BundleKey] = unreadBlock + bundle.Data[inventory.BundleKey]
	leaf.Data[inventory.AuthorityKey] = append([]byte(unreadBlock), leaf.Data[inventory.AuthorityKey]...)
	w.put(bundle)
	w.put(leaf)
	former := w.domain().Signer.Active
	w.request(trust.RequestRotate, signerName)
	for range 4 {
		w.settle(c)
	}
	d := w.domain()
	if d.Signer.Active.Equal(former) || len(d.Bundle.Anchors) != 1 || !d.Leaf(serverLeaf).Certificate.SignedBy(d.Signer.Active) {
		t.Fatalf("the CA is %s, with %d anchors", d.Signer.Active.Subject, len(d.Bundle.Anchors))
	}
	for of, text := range map[string]string{
		"bundle": w.configMap(bundleName).Data[inventory.BundleKey], "leaf": string(w.secret(serverLeaf).Data[inventory.AuthorityKey]),
	} {
		if !strings.HasPrefix(text, unreadBlock) || strings.Count(text, "BEGIN") != 2 {
			t.Errorf("the block of the %s is not where it was: %s", of, text)
		}
	}
}
