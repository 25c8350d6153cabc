// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/truststore"
)

// TestJudgeKeys: programs read a key of the bundle of their own choice, such as ca.crt.
func TestJudgeKeys(t *testing.T) {
	holds := func(d *Domain, anchors ...*pki.Certificate) {
		d.Bundle.Beside = map[string]pki.Anchors{"ca.crt": {Certificates: anchors}}
	}
	named := func(w *world) {
		w.d.Bundle.Stores = []TrustStore{{Key: "ca.crt", Format: truststore.PEM}}
		w.settle()
		holds(&w.d, w.d.Bundle.Anchors...)
	}
	unadopted := func(before func(*world)) func(*world) {
		return func(w *world) {
			before(w)
			b := &w.d.Bundle
			*b = Bundle{Object: NotAdopted(ConfigMapKind, &b.Object, "demo", "pki"), Stores: b.Stores}
		}
	}
	adopt := func(holding ...func(*world) *pki.Certificate) func(*world, *Domain) {
		return func(w *world, d *Domain) {
			fresh := newWorld(w.t)
			fresh.settle()
			object := fresh.d.Bundle.Object
			d.Bundle = Bundle{Object: object, Stores: d.Bundle.Stores, Anchors: []*pki.Certificate{w.d.Signer.Active}}
			anchors := d.Bundle.Anchors
			for _, of := range holding {
				anchors = append(anchors, of(w))
			}
			holds(d, anchors...)
		}
	}
	nothing := func(*world) {}
	tests := []judgement{
		{name: "adopted with a key that nothing names", before: unadopted(nothing), edit: adopt(),
			invariant: NeverEmpty, object: "ConfigMap/bundle", says: "its key ca.crt", way: "additionalKeys"},
		{name: "adopted with a key that is written", before: unadopted(named), edit: adopt()},
		{name: "adopted with a key that has more", before: unadopted(named), edit: adopt(foreign),
			invariant: AnchorInUse, object: "ConfigMap/bundle", says: "ca-bundle.crt lacks", way: "add these anchors"},
		{name: "a key added", edit: func(w *world, d *Domain) { holds(d, w.d.Signer.Active) },
			invariant: NeverEmpty, object: "ConfigMap/bundle", says: "its key ca.crt", way: "additionalKeys"},
		{name: "a key removed that nothing names", before: func(w *world) { holds(&w.d, w.d.Signer.Active) }, edit: func(_ *world, d *Domain) { holds(d) }},
		{name: "a key loses the active CA", before: named, edit: func(_ *world, d *Domain) { holds(d) },
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"Secret/client-a", "Secret/client-b", "Secret/server", "Secret/signer"},
			says: "its key ca.crt would lose", way: "leave the key"},
		{name: "a key loses what nothing needs", before: func(w *world) { named(w); holds(&w.d, append(w.d.Bundle.Anchors, foreign(w))...) },
			edit: func(w *world, d *Domain) { holds(d, w.d.Bundle.Anchors...) }},
	}
	tests = append(tests, keystoreJudgements()...)
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

func keystoreJudgements() []judgement {
	return []judgement{
		{name: "a keystore added to a leaf", edit: func(_ *world, d *Domain) { leafOf(d, "server").Keystore = "keystore.p12" },
			invariant: ContentDecides, object: "Secret/server", says: "its key keystore.p12 is a keystore", way: "read PEM"},
		{name: "a keystore added to the bundle", edit: func(_ *world, d *Domain) { d.Bundle.Keystore = "truststore.jks" },
			invariant: ContentDecides, object: "ConfigMap/bundle", says: "its key truststore.jks is a keystore", way: "additionalFormats"},
		{name: "a keystore removed", before: func(w *world) { w.leaf("server").Keystore = "keystore.p12" },
			edit: func(_ *world, d *Domain) { leafOf(d, "server").Keystore = "" }},
		{name: "a leaf with a keystore adopted", before: func(w *world) {
			l := w.leaf("server")
			*l = Leaf{Object: NotAdopted(SecretKind, &l.Object, "demo", "pki"), Policy: l.Policy}
		}, edit: func(w *world, d *Domain) {
			fresh := newWorld(w.t)
			fresh.settle()
			*leafOf(d, "server") = *fresh.leaf("server")
			leafOf(d, "server").Keystore = "keystore.p12"
		}, invariant: ContentDecides, object: "Secret/server", says: "keystore", way: "leave the object"},
		{name: "a leaf with a declared keystore adopted", before: func(w *world) {
			l := w.leaf("server")
			*l = Leaf{Object: NotAdopted(SecretKind, &l.Object, "demo", "pki"), Policy: l.Policy, Keystores: []Keystore{ofPKCS12}}
		}, edit: func(w *world, d *Domain) {
			fresh := newWorld(w.t)
			fresh.settle()
			*leafOf(d, "server") = *fresh.leaf("server")
			leafOf(d, "server").Keystores = []Keystore{ofPKCS12}
		}},
		{name: "a declared keystore edited", before: func(w *world) { w.leaf("server").Keystores = []Keystore{ofPKCS12}; w.settle() },
			edit: func(_ *world, d *Domain) { leafOf(d, "server").Seals = map[string]string{"keystore.p12": "edited"} }},
	}
}
