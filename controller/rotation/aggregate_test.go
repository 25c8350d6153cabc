// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// TestAggregateKeepsAnchorsOfItsPairs: while the Secret has other pairs than the leaves, live, a write of bundles only
// adds anchors.
func TestAggregateKeepsAnchorsOfItsPairs(t *testing.T) {
	w, c := settled(t)
	former, err := pki.NewAuthority(pki.Profile{CommonName: "former", Key: pki.ECDSAP256, Validity: 24 * time.Hour}, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	published := w.configMap("all-bundles")
	ours := published.Data["web.crt"]
	published.Data["web.crt"] = string(pki.EncodeCertificates(former.Certificate))
	w.put(published)
	pairs := w.secret("all-certs")
	delete(pairs.Data, serverLeaf+".crt")
	w.put(pairs)

	n := w.Namespace(testNamespace)
	content := aggregateContent{c, testNamespace, n.Aggregates[0], membersOf(n)}
	if err := content.fillConfigMap(t.Context(), published.DeepCopy(), &trust.Action{Irreversible: true}); !errors.Is(err, apply.ErrStale) {
		t.Errorf("anchors are removed before the pairs are written: error %v", err)
	}
	if err := content.fillConfigMap(t.Context(), published, &trust.Action{}); err != nil {
		t.Fatal(err)
	}
	anchors, err := pki.ParseBundle([]byte(published.Data["web.crt"]))
	if err != nil {
		t.Fatal(err)
	}
	if len(anchors) != 2 || !slices.ContainsFunc(anchors, former.Certificate.Equal) {
		t.Errorf("the write leaves %d anchors, want the former one and the new one", len(anchors))
	}

	w.settle(c)
	if got := w.configMap("all-bundles").Data["web.crt"]; got != ours {
		t.Errorf("at rest, the aggregate has %q, want %q", got, ours)
	}
}
