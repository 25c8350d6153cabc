// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"certrotation.dev/registry/pki"
)

func keyOf(t *testing.T, algorithm pki.KeyAlgorithm) []byte {
	t.Helper()
	key, err := pki.GenerateKey(algorithm)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestInFiles(t *testing.T) {
	for _, algorithm := range []pki.KeyAlgorithm{pki.RSA2048, pki.ECDSAP256, pki.Ed25519} {
		key, other := keyOf(t, algorithm), keyOf(t, algorithm)
		block, _ := pem.Decode(key)
		quoted, err := json.Marshal(map[string]string{"tls.key": string(key)})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(map[string][]byte{"tls.key": key})
		if err != nil {
			t.Fatal(err)
		}
		number, err := parse(key)
		if err != nil {
			t.Fatal(err)
		}
		var some []byte
		for _, some = range number {
			break
		}
		for name, tc := range map[string]struct {
			content []byte
			none    bool
		}{
			"nothing":             {content: []byte("Signed name=sound"), none: true},
			"another key":         {content: other, none: true},
			"PEM":                 {content: key},
			"PEM in a JSON text":  {content: quoted},
			"PEM with CRLF":       {content: bytes.ReplaceAll(key, []byte("\n"), []byte("\r\n"))},
			"DER":                 {content: block.Bytes},
			"DER in base64":       {content: []byte("x=" + base64.StdEncoding.EncodeToString(block.Bytes))},
			"DER in hexadecimal":  {content: []byte(hex.EncodeToString(block.Bytes))},
			"bytes by %v":         {content: fmt.Appendf(nil, "%v", block.Bytes)},
			"bytes by %q of %x":   {content: fmt.Appendf(nil, "%X", block.Bytes)},
			"a number by %d":      {content: []byte(new(big.Int).SetBytes(some).String())},
			"a number with colon": {content: []byte(colons(some))},
			// The data is base64 of PEM, which is base64 of DER.
			"the data of a Secret": {content: data},
		} {
			t.Run(string(algorithm)+", "+name, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "serve.log"), append([]byte("before "), tc.content...), 0o600); err != nil {
					t.Fatal(err)
				}
				finds, err := InFiles(dir, map[string][]byte{"canary": key})
				if err != nil {
					t.Fatal(err)
				}
				if (len(finds) == 0) != tc.none {
					t.Errorf("found %v, want nothing: %t", finds, tc.none)
				}
			})
		}
	}
}
