// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeletvolume

import (
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// Authority makes a CA.
func Authority(t testing.TB, name string) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 24 * time.Hour, Backdate: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// Leaf makes a leaf for localhost that servers and clients may use.
func Leaf(t testing.TB, ca *pki.Pair) *pki.Pair {
	t.Helper()
	leaf, err := ca.Issue(pki.Profile{
		CommonName: "localhost", DNSNames: []string{"localhost"}, IPAddresses: []string{"127.0.0.1"}, Key: pki.ECDSAP256,
		Validity: time.Hour, Backdate: time.Minute, Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// Secret returns the data of a Secret with a pair.
func Secret(t testing.TB, pair *pki.Pair) map[string]string {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"tls.crt": string(pair.CertPEM()), "tls.key": string(key)}
}

// Bundle returns the data of a ConfigMap with trust anchors.
func Bundle(authorities ...*pki.Pair) map[string]string {
	var certs []*pki.Certificate
	for _, ca := range authorities {
		certs = append(certs, ca.Certificate)
	}
	return map[string]string{"ca-bundle.crt": string(pki.EncodeCertificates(certs...))}
}
