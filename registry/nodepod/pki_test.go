// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// life is the validity of everything that these tests make.
const life = 100 * time.Hour

func now() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func authority(t testing.TB, name string, end time.Time) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Second, Backdate: life}, end.Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func leaf(t testing.TB, ca *pki.Pair, name string, end time.Time) *pki.Pair {
	t.Helper()
	made, err := ca.Issue(pki.Profile{
		CommonName: name, Organizations: []string{"system:etcd"}, IPAddresses: []string{"10.0.0.1"},
		Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Second, Backdate: life,
	}, end.Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

const (
	peerCert, peerKey = "secrets/c/etcd-peer-a.crt", "secrets/c/etcd-peer-a.key"
	bundlePath        = "configmaps/b/server-ca-bundle.crt"
)

// generation returns one with a single pair and a single bundle.
func generation(number int, pair *pki.Pair, anchors ...*pki.Certificate) *Generation {
	return &Generation{
		Revision: number, Number: number, Path: "/r/etcd-pod/generation",
		GenerationContent: GenerationContent{
			Bundles: []Bundle{{Path: bundlePath, Anchors: anchors}},
			Pairs:   []Pair{{Name: "etcd-peer-a", Cert: peerCert, Key: peerKey, Certificate: pair.Certificate, Chain: pair.Chain}},
		},
	}
}
