// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRequest(t *testing.T) {
	for _, alg := range []KeyAlgorithm{ECDSAP256, RSA2048, Ed25519} {
		t.Run(string(alg), func(t *testing.T) {
			made, key, err := NewRequest(Profile{CommonName: "ns_signer@1", Key: alg})
			if err != nil {
				t.Fatal(err)
			}
			read, err := ParseRequest(made.PEM())
			if err != nil || read.Subject != "CN=ns_signer@1" || read.PublicKeyHash != made.PublicKeyHash || !bytes.Equal(read.PEM(), made.PEM()) {
				t.Fatalf("read %+v, %v", read, err)
			}
			if err := read.CheckKey(key); err != nil {
				t.Error(err)
			}
			other := must(authorities[alg]().KeyPEM())
			if err := read.CheckKey(other); !errors.Is(err, ErrKeyMismatch) {
				t.Errorf("another key: %v", err)
			}
		})
	}
	if _, _, err := NewRequest(Profile{Key: ECDSAP256}); !errors.Is(err, ErrInvalidProfile) {
		t.Errorf("without a name: %v", err)
	}
}

// TestRequestAsksForAuthority: OpenSSL with -copy_extensions copy makes a CA of it.
func TestRequestAsksForAuthority(t *testing.T) {
	made, _, err := NewRequest(Profile{CommonName: "ca", Key: ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	request := must(x509.ParseCertificateRequest(made.der))
	cert := forge(t, newECKey(t), nil, func(c *x509.Certificate) {
		c.ExtraExtensions, c.KeyUsage, c.BasicConstraintsValid, c.IsCA = request.Extensions, 0, false, false
	})
	parsed := must(x509.ParseCertificate(cert.DER()))
	if !cert.IsCA || cert.pathLength != 0 || parsed.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign|x509.KeyUsageDigitalSignature {
		t.Errorf("CA %t, path length %d, usage %b", cert.IsCA, cert.pathLength, parsed.KeyUsage)
	}
}

func TestParseRequestRefuses(t *testing.T) {
	made, _, err := NewRequest(Profile{CommonName: "ca", Key: ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(made.der)
	broken[len(broken)-1] ^= 1
	block := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: blockRequest, Bytes: der}) }
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":               {nil, ErrNoCertificate},
		"a certificate":         {authorities[ECDSAP256]().Certificate.PEM(), ErrBlockType},
		"two":                   {append(made.PEM(), made.PEM()...), ErrBlockType},
		"no DER":                {block([]byte("x")), ErrInvalidCertificate},
		"a broken signature":    {block(broken), ErrInvalidCertificate},
		"more than any request": {block(make([]byte, maxCertificateBytes+1)), ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseRequest(tt.data); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// TestOpenSSLSigns runs the command of docs/operations.md, if this machine has OpenSSL.
func TestOpenSSLSigns(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Logf("not signed by OpenSSL: %v", err)
		return
	}
	made, _, err := NewRequest(Profile{CommonName: "ns_signer@1", Key: ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	dir, root := t.TempDir(), must(NewAuthority(Profile{CommonName: "root", Key: ECDSAP256, Validity: time.Hour, Subordinates: true}, time.Now()))
	for name, data := range map[string][]byte{"ca.csr": made.PEM(), "root.crt": root.CertPEM(), "root.key": must(root.KeyPEM())} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "openssl", strings.Fields(
		"x509 -req -in ca.csr -CA root.crt -CAkey root.key -days 1825 -copy_extensions copy -out ca.crt")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ca, err := ParseCertificate(mustPEM(t, filepath.Join(dir, "ca.crt")))
	if err != nil || !ca.IsCA || ca.pathLength != 0 || ca.PublicKeyHash != made.PublicKeyHash || !ca.AcceptedBy(root.Certificate, 0) {
		t.Errorf("%v: %+v", err, ca)
	}
}

func mustPEM(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatalf("%s is no PEM", file)
	}
	return block.Bytes
}
