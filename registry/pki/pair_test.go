// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePairOfEachAlgorithm(t *testing.T) {
	for _, alg := range KeyAlgorithms() {
		t.Run(string(alg), func(t *testing.T) {
			leaf := leaves[alg]()
			pair, err := ParsePair(leaf.CertPEM(), keyPEM(t, leaf))
			if err != nil {
				t.Fatal(err)
			}
			if pair.Certificate.KeyAlgorithm != alg {
				t.Errorf("algorithm %q", pair.Certificate.KeyAlgorithm)
			}
			if diff := cmp.Diff(fingerprints(leaf.Chain), fingerprints(pair.Chain)); diff != "" {
				t.Errorf("chain (-want +got):\n%s", diff)
			}
			if !bytes.Equal(keyPEM(t, pair), keyPEM(t, leaf)) || !bytes.Equal(pair.CertPEM(), leaf.CertPEM()) {
				t.Error("the pair does not survive a round trip")
			}
			if _, err := tls.X509KeyPair(pair.CertPEM(), keyPEM(t, pair)); err != nil {
				t.Errorf("crypto/tls refuses the pair: %v", err)
			}
		})
	}
}

func TestParsePair(t *testing.T) {
	rsaLeaf, ecLeaf := leaves[RSA2048](), leaves[ECDSAP256]()
	rsaKey, ecKey := rsaLeaf.key().(*rsa.PrivateKey), ecLeaf.key().(*ecdsa.PrivateKey)
	pkcs1, sec1 := x509.MarshalPKCS1PrivateKey(rsaKey), must(x509.MarshalECPrivateKey(ecKey))
	rsaCert, ecCert := rsaLeaf.Certificate.PEM(), ecLeaf.Certificate.PEM()
	ecPKCS8 := keyPEM(t, ecLeaf)
	parameters := pemBlock("EC PARAMETERS", []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7})
	weak := forge(t, rsa1024(), nil, nil)
	agreement := must(x509.MarshalPKCS8PrivateKey(must(ecdh.X25519().GenerateKey(rand.Reader))))
	legacy := pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: pkcs1,
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"},
	})
	sameKey := forge(t, ecKey, nil, nil)

	tests := map[string]struct {
		cert, key []byte
		err       error
	}{
		"PKCS#1":                    {cert: rsaCert, key: pemBlock("RSA PRIVATE KEY", pkcs1)},
		"SEC1":                      {cert: ecCert, key: pemBlock("EC PRIVATE KEY", sec1)},
		"SEC1 after parameters":     {cert: ecCert, key: join(parameters, pemBlock("EC PRIVATE KEY", sec1))},
		"PKCS#1 labelled PKCS#8":    {cert: rsaCert, key: pemBlock("PRIVATE KEY", pkcs1)},
		"certificate in the key":    {cert: ecCert, key: join(ecCert, ecPKCS8)},
		"CRLF":                      {cert: ecCert, key: bytes.ReplaceAll(ecPKCS8, []byte("\n"), []byte("\r\n"))},
		"RSA 1024":                  {cert: weak.PEM(), key: pemBlock("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsa1024()))},
		"same key, twice certified": {cert: sameKey.PEM(), key: ecPKCS8},

		"no certificate":           {key: ecPKCS8, err: ErrNoCertificate},
		"damaged certificate":      {cert: ecCert[:60], key: ecPKCS8, err: ErrMalformedPEM},
		"no key":                   {cert: ecCert, err: ErrNoKey},
		"only parameters":          {cert: ecCert, key: parameters, err: ErrNoKey},
		"certificate for a key":    {cert: ecCert, key: ecCert, err: ErrNoKey},
		"swapped":                  {cert: ecPKCS8, key: ecCert, err: ErrBlockType},
		"key of another":           {cert: ecCert, key: keyPEM(t, leaves[ECDSAP384]()), err: ErrKeyMismatch},
		"key of another algorithm": {cert: ecCert, key: pemBlock("RSA PRIVATE KEY", pkcs1), err: ErrKeyMismatch},
		"signer first":             {cert: join(ecLeaf.Chain[0].PEM(), ecCert), key: ecPKCS8, err: ErrKeyMismatch},
		"two keys":                 {cert: ecCert, key: join(ecPKCS8, ecPKCS8), err: ErrManyKeys},
		"encrypted PKCS#8":         {cert: ecCert, key: pemBlock("ENCRYPTED PRIVATE KEY", []byte("x")), err: ErrEncryptedKey},
		"encrypted PKCS#1":         {cert: rsaCert, key: legacy, err: ErrEncryptedKey},
		"garbage in the block":     {cert: ecCert, key: pemBlock("PRIVATE KEY", []byte("garbage")), err: ErrInvalidKey},
		"OpenSSH":                  {cert: ecCert, key: pemBlock("OPENSSH PRIVATE KEY", []byte("x")), err: ErrInvalidKey},
		"other kind":               {cert: ecCert, key: pemBlock("HUNTER2 PRIVATE KEY", []byte("x")), err: ErrInvalidKey},
		"key that cannot sign":     {cert: ecCert, key: pemBlock("PRIVATE KEY", agreement), err: ErrInvalidKey},
		"cut key":                  {cert: ecCert, key: ecPKCS8[:len(ecPKCS8)-30], err: ErrMalformedPEM},
		"huge key":                 {cert: ecCert, key: pemBlock("PRIVATE KEY", make([]byte, maxKeyDER+1)), err: ErrTooLarge},
		"huge file":                {cert: ecCert, key: make([]byte, MaxPEMBytes+1), err: ErrTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pair, err := ParsePair(test.cert, test.key)
			if !errors.Is(err, test.err) {
				t.Fatalf("ParsePair: %v, want %v", err, test.err)
			}
			if (pair == nil) != (test.err != nil) {
				t.Errorf("ParsePair returned %v with error %v", pair, err)
			}
			certs, err := CheckPair(test.cert, test.key)
			if !errors.Is(err, test.err) {
				t.Errorf("CheckPair: %v, want %v", err, test.err)
			}
			want, _ := ParseChain(test.cert)
			if diff := cmp.Diff(fingerprints(want), fingerprints(certs)); diff != "" {
				t.Errorf("certificates of CheckPair (-want +got):\n%s", diff)
			}
			if err != nil {
				for _, secret := range []string{"HUNTER2", strings.Split(string(ecPKCS8), "\n")[1][:24]} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error quotes its input: %v", err)
					}
				}
			}
		})
	}
}

// TestKeyAfterManyBlocks parses the longest allowed input: each block that is no key is skipped after one look.
func TestKeyAfterManyBlocks(t *testing.T) {
	leaf := leaves[ECDSAP256]()
	key, block := keyPEM(t, leaf), []byte("-----BEGIN A-----\n-----END A-----\n")
	many := bytes.Repeat(block, (MaxPEMBytes-len(key))/len(block))
	if _, err := parseKey(many); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v, want ErrNoKey", err)
	}
	if _, err := CheckPair(leaf.CertPEM(), join(many, key)); err != nil {
		t.Errorf("with the key at the end: %v", err)
	}
}

func TestPairWithoutKey(t *testing.T) {
	pair := &Pair{Certificate: leaves[Ed25519]().Certificate}
	if _, err := pair.KeyPEM(); !errors.Is(err, ErrNoKey) {
		t.Errorf("KeyPEM: %v, want ErrNoKey", err)
	}
	if _, err := pair.Issue(leafProfile(Ed25519), testNow); !errors.Is(err, ErrNoKey) {
		t.Errorf("Issue: %v, want ErrNoKey", err)
	}
	foreign := &Pair{Certificate: pair.Certificate, key: seal(foreignSigner{})}
	if _, err := foreign.KeyPEM(); !errors.Is(err, ErrInvalidKey) {
		t.Errorf("KeyPEM of a foreign signer: %v, want ErrInvalidKey", err)
	}
	if err := checkKey(pair.Certificate, foreignSigner{}); !errors.Is(err, ErrInvalidKey) {
		t.Errorf("checkKey of a foreign signer: %v, want ErrInvalidKey", err)
	}
}

func TestPairIsNeverPrinted(t *testing.T) {
	pair := leaves[ECDSAP256]()
	secret := pair.key().(*ecdsa.PrivateKey)
	scalar := must(secret.Bytes())
	needles := []string{
		fmt.Sprintf("%x", scalar), fmt.Sprintf("%X", scalar), fmt.Sprintf("%d", scalar)[1:40],
		secret.D.String(), strings.Split(string(keyPEM(t, pair)), "\n")[1], //nolint:staticcheck // D is what a printer would walk into.
	}
	outputs := map[string]string{}
	holder := struct {
		Pair  *Pair
		Value Pair
		inner Pair
	}{pair, *pair, *pair}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		outputs["pointer "+verb] = fmt.Sprintf(verb, pair)
		outputs["value "+verb] = fmt.Sprintf(verb, *pair)
		outputs["holder "+verb] = fmt.Sprintf(verb, holder)
	}
	outputs["json"] = string(must(json.Marshal(holder)))
	outputs["String"] = pair.String()
	outputs["MarshalLog"] = fmt.Sprint(pair.MarshalLog())
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "pair", pair, "value", *pair)
	outputs["slog"] = log.String()
	for name, output := range outputs {
		for _, needle := range needles {
			if strings.Contains(output, needle) {
				t.Errorf("%s shows the key: %s", name, output)
			}
		}
	}
	if want := fmt.Sprintf("Pair{subject %q, fingerprint %s, key withheld}", pair.Certificate.Subject, pair.Certificate.Fingerprint); outputs["pointer %#v"] != want {
		t.Errorf("%%#v = %s, want %s", outputs["pointer %#v"], want)
	}
	if got := (Pair{}).String(); got != "Pair{}" {
		t.Errorf("the empty pair reads %q", got)
	}
}
