// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"testing"

	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// TestBundlesAreNamedByTheirContent: the name of a bundle follows from its content. A pod that mounts it by name
// therefore has this content.
func TestBundlesAreNamedByTheirContent(t *testing.T) {
	t.Parallel()
	first, second := signer(t, pki.ECDSAP256).CertificatePEM, signer(t, pki.ECDSAP256).CertificatePEM
	object := objectOf(t, &CertificateBundleSecretConfig{Name: "ca-bundle", CertificatePEMs: [][]byte{first, second}})
	both := bytes.Join([][]byte{first, second}, nil)
	for name, test := range map[string]struct {
		of   string
		data map[string][]byte
		same bool
	}{
		"as it was made":    {"ca-bundle", map[string][]byte{"bundle.crt": both}, true},
		"in another order":  {"ca-bundle", map[string][]byte{"bundle.crt": bytes.Join([][]byte{second, first}, nil)}, false},
		"one less":          {"ca-bundle", map[string][]byte{"bundle.crt": first}, false},
		"something besides": {"ca-bundle", map[string][]byte{"bundle.crt": both, "x": nil}, false},
		"with a comment":    {"ca-bundle", map[string][]byte{"bundle.crt": append([]byte("# x\n"), both...)}, false},
		"cut off":           {"ca-bundle", map[string][]byte{"bundle.crt": both[:len(both)-1]}, false},
		"empty":             {"ca-bundle", map[string][]byte{"bundle.crt": nil}, false},
		"of another name":   {"ca", map[string][]byte{"bundle.crt": both}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := edition.BundleObject(test.of, test.data); (got == object) != test.same {
				t.Errorf("it is called %q, and was made as %s", got, object)
			}
		})
	}
}
