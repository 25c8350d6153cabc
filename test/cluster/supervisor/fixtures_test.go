// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

func newSigner(t *testing.T, name string) *pki.Pair {
	t.Helper()
	return newSignerAt(t, name, time.Now())
}

// expiredSigner makes a CA that expired a day ago.
func expiredSigner(t *testing.T) *pki.Pair {
	t.Helper()
	return newSignerAt(t, "expired", time.Now().Add(-48*time.Hour))
}

func newSignerAt(t *testing.T, name string, at time.Time) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 24 * time.Hour, Backdate: time.Minute}, at)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// issue makes a pair for etcd's server and its clients.
func issue(t *testing.T, ca *pki.Pair, name string) (certPEM, keyPEM []byte) {
	t.Helper()
	return issueAt(t, ca, name, time.Now())
}

func issueAt(t *testing.T, ca *pki.Pair, name string, at time.Time) (certPEM, keyPEM []byte) {
	t.Helper()
	pair, err := ca.Issue(pki.Profile{
		CommonName: name, IPAddresses: []string{"127.0.0.1"}, DNSNames: []string{"localhost"},
		Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, Key: pki.ECDSAP256, Validity: 12 * time.Hour, Backdate: 30 * time.Second,
	}, at)
	if err != nil {
		t.Fatal(err)
	}
	if keyPEM, err = pair.KeyPEM(); err != nil {
		t.Fatal(err)
	}
	return pair.CertPEM(), keyPEM
}

// bundle returns the PEM of the signers' certificates.
func bundle(signers ...*pki.Pair) []byte {
	var out []byte
	for _, signer := range signers {
		out = append(out, signer.CertPEM()...)
	}
	return out
}

func seed(t *testing.T, dir string, bundlePEM, certPEM, keyPEM []byte) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{fileBundle: bundlePEM, fileCertificate: certPEM, fileKey: keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// trustID returns the store's name for the trust in a bundle.
func trustID(t *testing.T, bundlePEM []byte) string {
	t.Helper()
	id, _, err := parseTrust(bundlePEM)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
