// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package disktest

import (
	"crypto"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// Life is how long everything that this package issues is valid.
const Life = 10 * time.Hour

// Authority creates a CA that ends at the given time.
func Authority(t testing.TB, name string, end time.Time) *pki.Pair {
	t.Helper()
	key, err := pki.GenerateKey(pki.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	return AuthorityOf(t, key, name, end)
}

// AuthorityOf creates a CA of the given key that ends at the given time.
func AuthorityOf(t testing.TB, key crypto.Signer, name string, end time.Time) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthorityOf(key, pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Second, Backdate: Life}, end.Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// Leaf issues a leaf for a member on the loopback address. It ends at the given time, or with its signer.
func Leaf(t testing.TB, ca *pki.Pair, name string, end time.Time) *pki.Pair {
	t.Helper()
	leaf, err := ca.Issue(pki.Profile{
		CommonName: name, Organizations: []string{"system:etcd"}, DNSNames: []string{"localhost"}, IPAddresses: []string{"127.0.0.1"},
		Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Second, Backdate: Life,
	}, end.Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// Files returns the files of a generation of this node. They are a peer and a serving leaf of ca that end at the
// given time, and the bundle of ca and anchors.
func (n *Node) Files(ca *pki.Pair, end time.Time, anchors ...*pki.Pair) map[string][]byte {
	n.t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"etcd-peer-" + n.Name, "etcd-serving-" + n.Name} {
		n.Put(files, name, Leaf(n.t, ca, name, end))
	}
	var certs []*pki.Certificate
	for _, anchor := range append([]*pki.Pair{ca}, anchors...) {
		certs = append(certs, anchor.Certificate)
	}
	files[ServerBundle] = pki.EncodeCertificates(certs...)
	return files
}

// Put adds the two files of a pair.
func (n *Node) Put(files map[string][]byte, leaf string, pair *pki.Pair) {
	n.t.Helper()
	key, err := pair.KeyPEM()
	n.must(err)
	certFile, keyFile := PairFiles(leaf)
	files[certFile], files[keyFile] = pair.CertPEM(), key
}
