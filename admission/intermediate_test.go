// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// belowRoot is a world whose signer is an intermediate. Its root is in the bundle and under ca.crt of the signer.
func belowRoot(t *testing.T) (*world, *pki.Pair) {
	t.Helper()
	w := newWorld(t)
	profile := func(name string) pki.Profile {
		return pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 5 * 365 * 24 * time.Hour, Subordinates: true}
	}
	root, err := pki.NewAuthority(profile("Acme Root"), now)
	if err != nil {
		t.Fatal(err)
	}
	under := func(name string) *pki.Pair {
		pair, err := root.IssueAuthority(profile(name), now)
		if err != nil {
			t.Fatal(err)
		}
		pair.Chain = nil
		return pair
	}
	w.active, w.next = under("service-signer@1"), under("service-signer@2")
	signer := w.secret("service-signer", w.active)
	signer.Data[inventory.AuthorityKey] = root.Certificate.PEM()
	w.secrets["service-signer"] = signer
	w.publish(root)
	for _, name := range leaves() {
		w.secrets[name] = w.leaf(name, w.active)
	}
	return w.observe(root), root
}

// TestReviewBelowRoot: what the controller writes for an intermediate is admitted, and what would break its chain is not.
func TestReviewBelowRoot(t *testing.T) {
	w, root := belowRoot(t)
	signer, bundle := w.secrets["service-signer"], w.configMaps["service-ca-bundle"]
	csr, key, err := pki.NewRequest(pki.Profile{CommonName: "service-signer@3", Key: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	asks := func(s *corev1.Secret) {
		s.Data[inventory.RequestCSRKey], s.Data[inventory.RequestKeyKey] = csr.PEM(), key
	}
	asked := w.clone()
	asked.secrets["service-signer"] = edited(signer, asks)
	next := func(pair *pki.Pair, key []byte) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.Data[inventory.NextCertKey], s.Data[inventory.NextKeyKey] = pair.CertPEM(), key
		}
	}
	denied := func(invariant trust.Invariant) answer {
		return answer{Code: 403, LiveReads: 1, Invariants: []string{string(invariant)}}
	}
	for _, tc := range []struct {
		name         string
		world        *world
		old, changed runtime.Object
		want         answer
	}{
		{name: "a key and its request", world: w, old: signer, changed: edited(signer, asks)},
		{name: "a request of another key", world: w, old: signer, changed: edited(signer, func(s *corev1.Secret) {
			asks(s)
			s.Data[inventory.RequestKeyKey] = w.key(w.next)
		}), want: denied(trust.PairMatches)},
		{name: "the requested key is lost", world: asked, old: asked.secrets["service-signer"], changed: signer, want: denied(trust.ContentDecides)},
		{name: "another intermediate of the root is next", world: w, old: signer, changed: edited(signer, next(w.next, w.key(w.next)))},
		{name: "next with the key of another", world: w, old: signer, changed: edited(signer, next(w.next, w.key(w.active))), want: denied(trust.PairMatches)},
		{name: "a self-signed next, by a person", world: w, old: signer, changed: edited(signer, next(w.foreign, w.key(w.foreign)))},
		{name: "the root is forgotten", world: w, old: signer, changed: edited(signer, func(s *corev1.Secret) { delete(s.Data, inventory.AuthorityKey) }),
			want: denied(trust.TrustBeforeUse)},
		{name: "the root leaves the bundle", world: w, old: bundle, changed: editedConfigMap(bundle, bundleOf(w.foreign)), want: denied(trust.AnchorInUse)},
		{name: "the intermediate joins the root", world: w, old: bundle, changed: editedConfigMap(bundle, bundleOf(root, w.active))},
		{name: "a leaf of the intermediate", world: w, old: w.secrets["service-server"], changed: w.leaf("service-server", w.active)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := viewOf(tc.world)
			got := ask(t, newHandler(t, v), v, request(t, tc.old, tc.changed))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
