// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// TestG1_ReissueAndDropInOnePass: servers were reissued and the old CA was dropped in one pass, in the hope that
// processes load in the right order.
func TestG1_ReissueAndDropInOnePass(t *testing.T) {
	hole(t, web, func(w *world) {
		old, _ := w.distribute()
		w.loadAll()
		w.settle()
		w.expect(!w.signedBy("server", old) && w.stage() == trust.Draining, "the stage is %s", w.stage())
		w.restart("client-a")
		w.load("server", "client-a")
		w.settle()
		w.expect(len(w.domain().Bundle.Anchors) == 2, "the anchor is gone while client-b presents an old leaf")
		w.follow()
		w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
	}, byAssess("no drain", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		if out.Stage == trust.Draining && len(d.Bundle.Anchors) > 1 {
			return with(out, bundleAction(d, trust.RetireAnchors, d.Signer.Active))
		}
		return out
	}))
}

// TestG2_SuccessIsNoEvidence: the gate was that all writes had succeeded, and a person's promise.
func TestG2_SuccessIsNoEvidence(t *testing.T) {
	hole(t, web, func(w *world) {
		old, _ := w.distribute()
		w.annotate("signer", "gardener.cloud/operation", "rotate-ca-complete")
		w.settle()
		w.restart("server", "client-a", "client-b")
		w.pass(time.Hour)
		w.settle()
		w.expect(w.signedBy("server", old), "the server was re-signed on a promise")
	}, byAssess("what is written is loaded", "refuses the leaf", noGate))
}

// TestG3_ManyOldCAs: a change of a CA's configuration began a rotation without phases. A second one dropped a CA
// that was still in use.
func TestG3_ManyOldCAs(t *testing.T) {
	longer := strings.Replace(webConfig, "signer: {secretName: signer}", "signer: {secretName: signer, policy: {validity: 60000h}}", 1)
	hole(t, web, func(w *world) {
		first := w.domain().Signer.Active
		w.configure(longer)
		w.settle()
		w.expect(w.domain().Signer.Active.Equal(first) && w.domain().Signer.Next == nil, "a changed validity began a rotation")
		w.distribute()
		w.loadAll()
		w.settle()
		w.load("server", "client-a")
		w.settle()
		w.api.remove("Secret/signer")
		w.settle()
		w.load("server", "client-a")
		w.expect(len(w.domain().Bundle.Anchors) == 3, "the bundle holds %d anchors", len(w.domain().Bundle.Anchors))
		w.settle()
		w.follow()
		w.expect(w.stage() == trust.Stable && len(w.domain().Bundle.Anchors) == 1, "the stage is %s", w.stage())
	}, byAssess("a CA that differs from its configuration is replaced", "changed validity", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		p := d.Signer.Policy.Profile
		if ca := d.Signer.Active; d.Signer.Next == nil && ca.NotAfter.Sub(ca.NotBefore) != p.Validity+p.Backdate {
			return with(out, signerAction(d, trust.GenerateNext))
		}
		return out
	}), byAssess("one old CA", "refuses the leaf", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		if n := len(d.Bundle.Anchors); n > 2 {
			return with(out, bundleAction(d, trust.RetireAnchors, d.Bundle.Anchors[n-2:]...))
		}
		return out
	}))
}

// TestG4_OldIsNotByCreationTime: the old CA was the one with the earlier creation time, in whole seconds. After a
// restore all CAs have the same.
func TestG4_OldIsNotByCreationTime(t *testing.T) {
	hole(t, web, func(w *world) {
		old, next := w.distribute()
		w.loadAll()
		w.settle()
		w.expect(w.domain().Signer.Active.Equal(next), "the new CA is not active")
		for _, object := range w.api.objects() {
			o := w.api.find(object)
			o.(metav1.Object).SetCreationTimestamp(metav1.NewTime(w.at))
			if s, ok := o.(*corev1.Secret); ok && object == "Secret/signer" {
				delete(s.Annotations, trust.AnnotationPromotedAt)
			}
			w.api.put(o)
		}
		w.settle()
		w.expect(w.signedBy("server", next), "the server is signed by the old CA after a restore")
		w.follow()
		w.expect(w.stage() == trust.Stable && !w.domain().Signer.Active.Equal(old), "the stage is %s", w.stage())
	}, byAssess("what was created at once has no order", "signed by the old CA", func(d *trust.Domain, now time.Time) *trust.Assessment {
		swapped := *d
		if len(d.Signer.Previous) == 1 && d.Signer.Created.Equal(d.Bundle.Created) {
			swapped.Signer.Active, swapped.Signer.Previous = d.Signer.Previous[0], []*pki.Certificate{d.Signer.Active}
		}
		return trust.Assess(&swapped, now)
	}))
}

// TestG5_ExpiredCASignsNothing: the old CA signed without a check of its validity.
func TestG5_ExpiredCASignsNothing(t *testing.T) {
	hole(t, web, func(w *world) {
		w.expires = true
		old := w.domain().Signer.Active
		w.pass(old.NotAfter.Sub(w.at) + time.Hour)
		w.api.remove("Secret/client-a")
		w.settle()
		w.expect(!w.signedBy("client-a", old), "an expired CA signed")
		w.loadAll()
		w.follow()
		w.expect(w.stage() == trust.Stable && w.domain().Signer.Active.ValidAt(w.at), "nothing recovers: the stage is %s", w.stage())
		for _, r := range w.processes {
			for name, c := range r.presents {
				w.expect(c.ValidAt(w.at), "%s still presents an expired %s", r.member, name)
			}
		}
	}, byAssess("the CA's validity is not looked at", "outside its validity", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return with(trust.Assess(d, now), issueAll(d, d.Signer.Active)...)
	}))
}

// TestG6_ShortLivedLeaves: renewal was decided when a leaf was made, ten days before its end. Leaves that live an
// hour were always due.
func TestG6_ShortLivedLeaves(t *testing.T) {
	short := setting{config: strings.ReplaceAll(webConfig, "usages: [ServerAuth]}\n  - {secretName: client-a",
		"usages: [ServerAuth], policy: {validity: 1h}}\n  - {secretName: client-a")}
	hole(t, short, func(w *world) {
		count := func() int {
			n := 0
			for _, object := range w.api.wrote {
				if object == "Secret/server" {
					n++
				}
			}
			return n
		}
		before := count()
		for range 300 {
			w.pass(time.Minute)
			w.reconcile()
			w.loadAll()
		}
		n := count() - before
		w.expect(n >= 5 && n <= 8, "a leaf that lives an hour was issued %d times in five hours", n)
	}, byAssess("ten days before the end", "was issued", func(d *trust.Domain, now time.Time) *trust.Assessment {
		out := trust.Assess(d, now)
		if l := leafOf(d, "server"); l.Certificate.NotAfter.Sub(now) < 240*time.Hour {
			return with(out, issue(d, l, d.Signer.Active))
		}
		return out
	}), byAssess("never again", "expired at", without(trust.IssueLeaf)))
}

// TestG7_LeafWithinItsSigner: a CA that was valid for another year issued a leaf for ten years.
func TestG7_LeafWithinItsSigner(t *testing.T) {
	greedy := setting{config: strings.ReplaceAll(webConfig, "dnsNames: [web.demo.svc]", "dnsNames: [web.demo.svc], policy: {validity: 40000h}")}
	hole(t, greedy, func(w *world) {
		w.expires = true
		ca := w.domain().Signer.Active
		w.pass(ca.NotAfter.Sub(w.at) / 2)
		w.loadAll()
		w.requestOf("server")
		w.settle()
		c := w.leaf("server").Certificate
		w.expect(!c.NotAfter.After(ca.NotAfter), "the leaf ends at %s, its signer at %s", c.NotAfter, ca.NotAfter)
		w.expect(refuses(w.asks("Secret/server", w.outliving("server")), trust.LeafWithinSigner), "a leaf that outlives its signer was let through")
	}, noWebhook("let through"))
}

// outliving returns the Secret of a leaf with a certificate that ends a year after its signer.
func (w *world) outliving(leaf string) *corev1.Secret {
	ca, s := w.pair("signer"), w.api.secret(leaf)
	key := func(text []byte) any {
		block, _ := pem.Decode(text)
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		w.expect(err == nil, "parse a key: %v", err)
		return parsed
	}
	parent, err := x509.ParseCertificate(ca.Certificate.DER())
	w.expect(err == nil, "parse the signer: %v", err)
	template, err := x509.ParseCertificate(w.leaf(leaf).Certificate.DER())
	w.expect(err == nil, "parse the leaf: %v", err)
	public := template.PublicKey
	template.NotAfter = parent.NotAfter.AddDate(1, 0, 0)
	template.SerialNumber = new(big.Int).Add(template.SerialNumber, big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key(w.api.secret("signer").Data[corev1.TLSPrivateKeyKey]))
	w.expect(err == nil, "sign: %v", err)
	s.Data[corev1.TLSCertKey] = slices.Concat(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), ca.CertPEM())
	return s
}

// TestG8_EveryKeyAlgorithm: there was only RSA-3072, and no way to change that.
func TestG8_EveryKeyAlgorithm(t *testing.T) {
	hole(t, web, func(w *world) {
		for _, alg := range []pki.KeyAlgorithm{pki.ECDSAP384, pki.Ed25519, pki.ECDSAP256} {
			policy := "policy: {key: " + string(alg) + "}}"
			config := strings.ReplaceAll(webConfig, "signer: {secretName: signer}", "signer: {secretName: signer, "+policy)
			config = strings.ReplaceAll(config, "Auth]}\n  - {secretName", "Auth], "+policy+"\n  - {secretName")
			w.configure(config)
			w.follow()
			w.expect(w.stage() == trust.Stable, "the stage is %s", w.stage())
			for _, c := range []*pki.Certificate{w.domain().Signer.Active, w.leaf("server").Certificate, w.leaf("client-a").Certificate} {
				w.expect(c.KeyAlgorithm == alg, "%s has a key of %s, want %s", c.Subject, c.KeyAlgorithm, alg)
			}
		}
	}, byAssess("a key is for ever", "has a key of", func(d *trust.Domain, now time.Time) *trust.Assessment {
		return trust.Assess(changed(d, func(d *trust.Domain) {
			d.Signer.Policy.Profile.Key = d.Signer.Active.KeyAlgorithm
			for i := range d.Leaves {
				if l := &d.Leaves[i]; l.Certificate != nil {
					l.Policy.Profile.Key = l.Certificate.KeyAlgorithm
				}
			}
		}), now)
	}))
}

// TestG9_CleanupIsGuarded: a cleanup deleted what was in use, without a warning.
func TestG9_CleanupIsGuarded(t *testing.T) {
	hole(t, web, func(w *world) {
		bundle := w.api.configMap("bundle")
		old, next := w.distribute()
		w.load("server")
		w.settle()
		w.restart("client-a")
		found := w.asks("ConfigMap/bundle", bundle)
		w.expect(len(found) > 0, "the removal of the new anchor was let through")
		for object, i := range map[string]trust.Invariant{"Secret/signer": trust.OneRotation, "ConfigMap/bundle": trust.AnchorInUse} {
			w.expect(refuses(w.asks(object, nil), i), "the deletion of %s was let through", object)
		}
		only := bundle.DeepCopy()
		only.Data["ca-bundle.crt"] = string(next.PEM())
		found = w.asks("ConfigMap/bundle", only)
		w.expect(refuses(found, trust.AnchorInUse) && slices.Contains(found[0].Affected, "Secret/server"), "the users of %s are not told: %v", old.Subject, found)
		w.expect(len(w.asks("Secret/server", nil)) == 0, "a leaf that is simply reissued may not be deleted: %v", w.asks("Secret/server", nil))
	}, noWebhook("let through"))
}

// TestG12_AbortGivesBackWhatWas: a rotation could not be aborted.
func TestG12_AbortGivesBackWhatWas(t *testing.T) {
	hole(t, web, func(w *world) {
		before, server := w.domain(), w.leaf("server").Certificate.Fingerprint
		w.distribute()
		w.load("client-a")
		w.abort("changed my mind")
		w.follow()
		d := w.domain()
		w.expect(w.stage() == trust.Stable && d.Signer.Next == nil, "there is no way back from %s", w.stage())
		w.expect(d.Signer.Active.Equal(before.Signer.Active) && len(d.Bundle.Anchors) == 1 && d.Bundle.Anchors[0].Equal(before.Bundle.Anchors[0]) &&
			w.leaf("server").Certificate.Fingerprint == server, "it is not what it was")
	}, byAssess("only forward", "not what it was", func(d *trust.Domain, now time.Time) *trust.Assessment {
		deaf := *d
		deaf.Requests = slices.DeleteFunc(slices.Clone(d.Requests), func(r trust.Request) bool { return r.Kind == trust.RequestAbort })
		return trust.Assess(&deaf, now)
	}))
}

// TestG13_UnitsOfValidity: seconds were compared with nanoseconds, so that every validity seemed to have changed.
func TestG13_UnitsOfValidity(t *testing.T) {
	hole(t, web, func(w *world) {
		writes := len(w.api.wrote)
		for _, text := range []string{"8760h", "525600m", "31536000s"} {
			w.configure(strings.ReplaceAll(webConfig, "dnsNames: [web.demo.svc]", "dnsNames: [web.demo.svc], policy: {validity: "+text+"}"))
			w.settle()
		}
		w.expect(len(w.api.wrote) == writes, "the same validity in other words wrote %v", w.api.wrote[writes:])
	}, byAssess("seconds are not nanoseconds", "finds no end", func(d *trust.Domain, now time.Time) *trust.Assessment {
		l := leafOf(d, "server")
		if l.Certificate.NotAfter.Sub(l.Certificate.NotBefore) != time.Duration(l.Policy.Profile.Validity.Seconds()) {
			return with(trust.Assess(d, now), issue(d, l, d.Signer.Active))
		}
		return trust.Assess(d, now)
	}))
}
