// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// root makes a root that is in no Secret of the cluster.
func (w *world) root(name string) *pki.Pair {
	w.t.Helper()
	pair, err := pki.NewAuthority(pki.Profile{
		CommonName: name, Key: pki.ECDSAP256, Validity: 20 * 365 * 24 * time.Hour, Backdate: time.Hour, Subordinates: true,
	}, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return pair
}

// intermediate makes an authority below another one, with the path to the root behind it.
func (w *world) intermediate(issuer *pki.Pair, name string, subordinates bool) *pki.Pair {
	w.t.Helper()
	pair, err := issuer.IssueAuthority(pki.Profile{
		CommonName: name, Key: pki.ECDSAP256, Validity: 5 * 365 * 24 * time.Hour, Backdate: 5 * time.Minute, Subordinates: subordinates,
	}, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	pair.Chain = append(pair.Chain, issuer.Chain...)
	return pair
}

// signer returns a signer Secret with a pair in a slot, and ca.crt.
func (w *world) signer(pair *pki.Pair, beside ...*pki.Certificate) *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: signerName, Annotations: map[string]string{trust.AnnotationConfiguration: "web"}},
		Type:       corev1.SecretTypeTLS, Data: map[string][]byte{},
	}
	if err := inventory.ActiveSlot.Put(secret.Data, pair); err != nil {
		w.t.Fatal(err)
	}
	if len(beside) > 0 {
		secret.Data[inventory.AuthorityKey] = pki.EncodeCertificates(beside...)
	}
	return secret
}

// putNext writes a pair into the slot next, as a person may.
func (w *world) putNext(pair *pki.Pair) {
	w.t.Helper()
	secret := w.secret(signerName)
	if err := inventory.NextSlot.Put(secret.Data, pair); err != nil {
		w.t.Fatal(err)
	}
	w.put(secret)
}

// anchors returns the common names of the bundle and of ca.crt beside the server's leaf.
func (w *world) anchors() (bundle, beside string) {
	names := func(cas []*pki.Certificate) string {
		var out []string
		for _, ca := range cas {
			out = append(out, ca.CommonName)
		}
		return strings.Join(out, ", ")
	}
	d := w.domain()
	return names(d.Bundle.Anchors), names(d.Leaf(serverLeaf).Anchors)
}

// openssl verifies the leaves as OpenSSL does: by the bundle alone, with what the leaf carries.
func (w *world) openssl() {
	w.t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		w.t.Logf("not verified by OpenSSL: %v", err)
		return
	}
	dir := w.t.TempDir()
	write := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			w.t.Fatal(err)
		}
		return file
	}
	bundle := write("bundle", []byte(w.configMap(bundleName).Data[inventory.BundleKey]))
	for _, name := range []string{serverLeaf, clientLeaf} {
		leaf := w.secret(name)
		carried, beside := write("carried", leaf.Data[inventory.ActiveCertKey]), write("beside", leaf.Data[inventory.AuthorityKey])
		for _, anchors := range []string{bundle, beside} {
			// The first certificate of a file is verified.
			out, err := exec.CommandContext(w.t.Context(), "openssl", "verify", "-attime", strconv.FormatInt(w.clock.Now().Unix(), 10), "-no-CApath", "-no-CAstore",
				"-CAfile", anchors, "-untrusted", carried, carried).CombinedOutput()
			if err != nil {
				w.t.Errorf("OpenSSL refuses %s: %v\n%s", name, err, out)
			}
		}
	}
}

// TestIntermediateSigner rotates a signer that is an intermediate twice: to another one below the same root, then to one
// below a new root. Every leaf is always accepted by the root alone, and no intermediate ever becomes an anchor.
func TestIntermediateSigner(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.controller()
	root := w.root("Acme Root 1")
	upper := w.intermediate(root, "Acme Issuing", true)
	first := w.intermediate(upper, "web 1", false)
	// As kubeadm and cert-manager write it: the path behind the CA, and the root in ca.crt.
	first.Chain = first.Chain[:1]
	w.put(w.signer(first, root.Certificate))
	w.settle(c)
	at := func(when, anchors string, active *pki.Pair) {
		t.Helper()
		bundle, beside := w.anchors()
		a := trust.Assess(w.domain(), w.clock.Now())
		if a.Stage != trust.Stable || len(a.Blockers)+len(a.Problems) > 0 || bundle != anchors || beside != anchors ||
			!w.domain().Signer.Active.Equal(active.Certificate) || !w.domain().Leaf(serverLeaf).Certificate.SignedBy(active.Certificate) {
			t.Errorf("%s: %s, blockers %v, problems %v, bundle %s, ca.crt %s", when, a.Stage, a.Blockers, a.Problems, bundle, beside)
		}
		w.openssl()
	}
	at("adopted", "Acme Root 1", first)
	if chain, err := pki.ParseChain(w.secret(serverLeaf).Data[inventory.ActiveCertKey]); err != nil || len(chain) != 3 || !chain[2].Equal(upper.Certificate) {
		t.Errorf("the leaf carries %d certificates: %v", len(chain), err)
	}

	second := w.intermediate(upper, "web 2", false)
	second.Chain = nil
	published := w.configMap(bundleName).ResourceVersion
	w.putNext(second)
	w.settle(c)
	at("below the same root", "Acme Root 1", second)
	if bundle := w.configMap(bundleName); bundle.Data[inventory.BundleKey] != string(root.Certificate.PEM()) {
		t.Errorf("the bundle was written (%s, %s):\n%s", published, bundle.ResourceVersion, bundle.Data[inventory.BundleKey])
	}

	newRoot := w.root("Acme Root 2")
	third := w.intermediate(newRoot, "web 3", false)
	w.putNext(third)
	w.settle(c)
	at("below a new root", "Acme Root 2", third)
	held, err := pki.ParseAnchors(w.secret(signerName).Data[inventory.AuthorityKey])
	for _, ca := range held.Certificates {
		if ca.Equal(root.Certificate) || ca.Equal(upper.Certificate) {
			t.Errorf("the signer still holds %s: %v", ca.Subject, err)
		}
	}
}

// TestRequestedAuthority rotates a signer under an offline root as an operator does: OpenSSL or the root's owner signs the
// request, with a new root. The key never leaves the Secret.
func TestRequestedAuthority(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.controller()
	root := w.root("Acme Root 1")
	first := w.intermediate(root, "web 1", false)
	w.put(w.signer(first))
	w.settle(c)
	requestRotation(w)
	w.settle(c)
	a := trust.Assess(w.domain(), w.clock.Now())
	if a.Stage != trust.Stable || len(a.Blockers) != 1 || a.Blockers[0].Reason != trust.ReasonAuthorityRequested || len(w.records(configv1alpha1.RecordRequest)) > 0 {
		t.Fatalf("%s, blockers %v", a.Stage, a.Blockers)
	}
	if n := w.settle(c); n != 0 {
		t.Fatalf("%d writes while it waits", n)
	}
	key := w.secret(signerName).Data[inventory.RequestKeyKey]

	second := w.root("Acme Root 2")
	ca := w.sign(second)
	w.install(ca, second.Certificate)
	w.settle(c)
	w.settle(c)
	bundle, beside := w.anchors()
	a = trust.Assess(w.domain(), w.clock.Now())
	if a.Stage != trust.Stable || len(a.Blockers)+len(a.Problems) > 0 || bundle != "Acme Root 2" || beside != bundle || !w.domain().Signer.Active.Equal(ca) {
		t.Fatalf("%s, blockers %v, bundle %s, ca.crt %s, signed by %s", a.Stage, a.Blockers, bundle, beside, w.domain().Signer.Active.Subject)
	}
	w.openssl()
	signer := w.secret(signerName)
	if !bytes.Equal(signer.Data[inventory.ActiveKeyKey], key) {
		t.Error("the key is another one than the requested")
	}
	for _, name := range []string{inventory.RequestKeyKey, inventory.RequestCSRKey, inventory.NextKeyKey, inventory.PreviousKeyKey} {
		if _, there := signer.Data[name]; there {
			t.Errorf("the signer still has %s", name)
		}
	}
	if left := w.records(configv1alpha1.RecordRequest); len(left) > 0 {
		t.Errorf("the request is not answered: %v", left)
	}
}

// sign signs the request of the signer as the owner of a root.
func (w *world) sign(root *pki.Pair) *pki.Certificate {
	w.t.Helper()
	block, _ := pem.Decode(w.secret(signerName).Data[inventory.RequestCSRKey])
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	keyPEM, err := root.KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	keyBlock, _ := pem.Decode(keyPEM)
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	issuer, err := x509.ParseCertificate(root.Certificate.DER())
	if err != nil {
		w.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(w.clock.Now().UnixNano()), Subject: request.Subject,
		NotBefore: w.clock.Now().Add(-time.Minute), NotAfter: w.clock.Now().Add(5 * 365 * 24 * time.Hour), ExtraExtensions: request.Extensions,
	}, issuer, request.PublicKey, key)
	if err != nil {
		w.t.Fatal(err)
	}
	ca, err := pki.ParseCertificate(der)
	if err != nil {
		w.t.Fatal(err)
	}
	return ca
}

// install records the request of the subresource install.
func (w *world) install(certs ...*pki.Certificate) {
	w.t.Helper()
	made, err := record.OfRequest(testNamespace, "web", &trust.Request{Kind: trust.RequestInstall, Secret: signerName, Certificates: certs}, "somebody")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
}
