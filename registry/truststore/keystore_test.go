// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package truststore

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"certrotation.dev/registry/pki"
)

// leaf returns a pair of an authority, with the authority as its chain.
func leaf(t *testing.T, key pki.KeyAlgorithm) *pki.Pair {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "demo_signer@1", Key: pki.ECDSAP256, Validity: time.Hour}, start)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.Profile{CommonName: "server", Key: key, Validity: time.Minute, Usages: []pki.Usage{pki.ServerAuth}}, start)
	if err != nil {
		t.Fatal(err)
	}
	pair.Chain = []*pki.Certificate{ca.Certificate}
	return pair
}

func encodePair(t *testing.T, format Format, password string, pair *pki.Pair) []byte {
	t.Helper()
	encoded, err := EncodePair(format, password, pair)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// content is a pair as DER: the key, and the chain in its order.
type content struct {
	Key   []byte
	Chain [][]byte
}

func contentOf(t *testing.T, pair *pki.Pair) content {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(key)
	out := content{Key: block.Bytes, Chain: [][]byte{pair.Certificate.DER()}}
	for _, c := range pair.Chain {
		out.Chain = append(out.Chain, c.DER())
	}
	return out
}

// pairReaders read a keystore with the library that writes it.
var pairReaders = map[Format]func([]byte, string) (content, error){
	PKCS12: func(data []byte, password string) (content, error) {
		key, certificate, others, err := pkcs12.DecodeChain(data, password)
		if err != nil {
			return content{}, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		out := content{Key: der, Chain: [][]byte{certificate.Raw}}
		for _, c := range others {
			out.Chain = append(out.Chain, c.Raw)
		}
		return out, err
	},
	JKS: func(data []byte, password string) (content, error) {
		store := keystore.New()
		if err := store.Load(bytes.NewReader(data), []byte(password)); err != nil {
			return content{}, err
		}
		entry, err := store.GetPrivateKeyEntry(pairAlias, []byte(password))
		out := content{Key: entry.PrivateKey}
		for _, c := range entry.CertificateChain {
			out.Chain = append(out.Chain, c.Content)
		}
		return out, err
	},
}

func TestReadPairBack(t *testing.T) {
	const password = "a pass word"
	for format, read := range pairReaders {
		for _, algorithm := range []pki.KeyAlgorithm{pki.ECDSAP256, pki.RSA2048, pki.Ed25519} {
			t.Run(string(format)+"/"+string(algorithm), func(t *testing.T) {
				pair := leaf(t, algorithm)
				encoded := encodePair(t, format, password, pair)
				got, err := read(encoded, password)
				if err != nil {
					t.Fatal(err)
				}
				want := contentOf(t, pair)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error("the keystore has another key or chain")
				}
				if bytes.Contains(encoded, want.Key) {
					t.Error("the key is not encrypted")
				}
				if _, err := read(encoded, "another one"); err == nil {
					t.Error("another password opens it")
				}
			})
		}
	}
}

func TestTheSamePairIsTheSameBytes(t *testing.T) {
	pair, other := leaf(t, pki.ECDSAP256), leaf(t, pki.ECDSAP256)
	bare := *pair
	bare.Chain = nil
	for format := range pairReaders {
		first := encodePair(t, format, changeit, pair)
		for name, test := range map[string]struct {
			other []byte
			same  bool
		}{
			"again":            {encodePair(t, format, changeit, pair), true},
			"another password": {encodePair(t, format, "another", pair), false},
			"another pair":     {encodePair(t, format, changeit, other), false},
			"without a chain":  {encodePair(t, format, changeit, &bare), false},
		} {
			if got := bytes.Equal(first, test.other); got != test.same {
				t.Errorf("%s, %s: the same bytes: %t", format, name, got)
			}
		}
	}
	if _, err := EncodePair("BKS", changeit, pair); err == nil {
		t.Error("a format that nobody knows was written")
	}
}

func TestSeal(t *testing.T) {
	want := Seal([]byte("store"), []byte("cert"), []byte("key"))
	for name, tt := range map[string]struct {
		store, cert, key string
		same             bool
	}{
		"the same":            {"store", "cert", "key", true},
		"another store":       {"other", "cert", "key", false},
		"another certificate": {"store", "other", "key", false},
		"another key":         {"store", "cert", "other", false},
		"another boundary":    {"storec", "ert", "key", false},
	} {
		if got := Seal([]byte(tt.store), []byte(tt.cert), []byte(tt.key)); (got == want) != tt.same {
			t.Errorf("%s: the same seal: %t", name, got == want)
		}
	}
}

func TestUsablePassword(t *testing.T) {
	for password, want := range map[string]bool{
		changeit: true, "with a space": true, "123456": true, strings.Repeat("x", 128): true,
		"": false, "12345": false, "changeit\n": false, "pässwort": false, strings.Repeat("x", 129): false,
	} {
		if got := UsablePassword([]byte(password)); got != want {
			t.Errorf("%q is usable: %t", password, got)
		}
	}
}

// TestProgramsReadPairs reads keystores with keytool and openssl, if this machine has them. Java signs with the key.
func TestProgramsReadPairs(t *testing.T) {
	pair := leaf(t, pki.ECDSAP256)
	key := contentOf(t, pair).Key
	chain := func(out []byte) bool {
		return strings.Contains(string(out), "PrivateKeyEntry") && strings.Contains(string(out), "chain length: 2")
	}
	for _, program := range []struct {
		format Format
		args   []string
		right  func(out []byte) bool
	}{
		{PKCS12, []string{"keytool", "-list", "-v", "-storetype", "PKCS12", "-storepass", changeit, "-keystore"}, chain},
		{JKS, []string{"keytool", "-list", "-v", "-storetype", "JKS", "-storepass", changeit, "-keystore"}, chain},
		{PKCS12, []string{"keytool", "-certreq", "-alias", "1", "-storetype", "PKCS12", "-storepass", changeit, "-keystore"}, requestOf(pair)},
		{JKS, []string{"keytool", "-certreq", "-alias", pairAlias, "-storetype", "JKS", "-storepass", changeit, "-keystore"}, requestOf(pair)},
		{PKCS12, []string{"openssl", "pkcs12", "-nodes", "-nocerts", "-passin", "pass:" + changeit, "-in"}, func(out []byte) bool {
			block, _ := pem.Decode(out)
			return block != nil && bytes.Equal(block.Bytes, key)
		}},
	} {
		if _, err := exec.LookPath(program.args[0]); err != nil {
			t.Logf("%s does not read %s here: %v", program.args[0], program.format, err)
			continue
		}
		file := filepath.Join(t.TempDir(), "store")
		if err := os.WriteFile(file, encodePair(t, program.format, changeit, pair), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), program.args[0], append(program.args[1:], file)...).Output(); err != nil || !program.right(out) {
			t.Errorf("%s does not read the pair in %s: %v", program.args[:2], program.format, err)
		}
	}
}

// requestOf accepts a request for a certificate that the key of a pair has signed.
func requestOf(pair *pki.Pair) func([]byte) bool {
	return func(out []byte) bool {
		block, _ := pem.Decode(out)
		if block == nil {
			return false
		}
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil || request.CheckSignature() != nil {
			return false
		}
		certificate, err := x509.ParseCertificate(pair.Certificate.DER())
		return err == nil && bytes.Equal(certificate.RawSubjectPublicKeyInfo, request.RawSubjectPublicKeyInfo)
	}
}
