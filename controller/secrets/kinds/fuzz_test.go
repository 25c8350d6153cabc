// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/base64"
	"testing"

	"certrotation.dev/registry/pki"
)

// FuzzPublicOf: any request is refused, or has a key of a supported algorithm.
func FuzzPublicOf(f *testing.F) {
	sound, _ := request(f)
	f.Add(sound)
	f.Add(sound[:len(sound)/2])
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		public, err := publicOf(data)
		if err == nil && !pki.AlgorithmOf(public).Valid() {
			t.Errorf("a key of %s is taken", pki.AlgorithmOf(public))
		}
	})
}

// FuzzLoadCertificate: the result is either an error or a pair with a certificate.
func FuzzLoadCertificate(f *testing.F) {
	ca := signer(f, pki.ECDSAP256)
	f.Add(ca.PrivateKeyPEM, ca.CertificatePEM)
	f.Add(ca.CertificatePEM, ca.PrivateKeyPEM)
	f.Add([]byte(nil), ca.CertificatePEM[:80])
	f.Fuzz(func(t *testing.T, key, certificate []byte) {
		loaded, err := LoadCertificate("ca", key, certificate)
		if (err == nil) != (loaded != nil) {
			t.Errorf("%v, %v", loaded, err)
		}
		if loaded != nil && loaded.Authority() == nil {
			t.Error("it has no certificate")
		}
	})
}

// FuzzLoadStaticToken: loaded tokens are complete.
func FuzzLoadStaticToken(f *testing.F) {
	f.Add([]byte("t,u,i,\"a,b\"\nt2,u2,i2"))
	f.Add([]byte("t,u,i,g"))
	f.Add([]byte("\"\n,,"))
	f.Fuzz(func(t *testing.T, data []byte) {
		loaded, err := LoadStaticTokenFromCSV("n", data)
		if err != nil {
			return
		}
		for _, token := range loaded.Tokens {
			if _, err := loaded.GetTokenForUsername(token.Username); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzLoadETCDEncryptionKey: a loaded key is valid for kube-apiserver, and reads the same after it is written.
func FuzzLoadETCDEncryptionKey(f *testing.F) {
	f.Add([]byte("key1"), []byte("YWFhYQ=="), []byte(""))
	f.Add([]byte("key1"), []byte("\x00\x01"), []byte("none"))
	f.Add([]byte(""), []byte("a"), []byte("base64"))
	f.Fuzz(func(t *testing.T, name, secret, encoding []byte) {
		key, err := LoadETCDEncryptionKey(map[string][]byte{"key": name, "secret": secret, "encoding": encoding})
		if err != nil {
			return
		}
		if _, err := base64.StdEncoding.DecodeString(key.ConfigurationSecret()); err != nil {
			t.Error(err)
		}
		again, err := LoadETCDEncryptionKey(key.SecretData())
		if err != nil || again.ConfigurationSecret() != key.ConfigurationSecret() {
			t.Errorf("it is not read as what was written: %v", err)
		}
	})
}
