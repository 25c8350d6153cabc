// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/truststore"
)

func TestKeystoreKey(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	encode := func(format truststore.Format) []byte {
		out, err := truststore.Encode(format, "changeit", []*pki.Certificate{pair.Certificate})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, tt := range map[string]struct {
		data       map[string][]byte
		maintained []string
		want       string
	}{
		"PEM":         {data: map[string][]byte{ActiveCertKey: pair.CertPEM(), ActiveKeyKey: keyOf(t, pair)}},
		"DER":         {data: map[string][]byte{"ca.der": pair.Certificate.DER()}},
		"JKS":         {data: map[string][]byte{"a": nil, "b": encode(truststore.JKS)}, want: "b"},
		"JCEKS":       {data: map[string][]byte{"b": {0xce, 0xce, 0xce, 0xce}}, want: "b"},
		"PKCS#12":     {data: map[string][]byte{"b": encode(truststore.PKCS12), "c": encode(truststore.JKS)}, want: "b"},
		"maintained":  {data: map[string][]byte{"b": encode(truststore.PKCS12)}, maintained: []string{"b"}},
		"short":       {data: map[string][]byte{"a": {0x30}, "b": {0x30, 0x82}}},
		"no keystore": {data: map[string][]byte{"b": {0x30, 3, 2, 1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := firstKey(keystoreKeys(tt.data, tt.maintained...)); got != tt.want {
				t.Errorf("the first of keystoreKeys() is %q, want %q", got, tt.want)
			}
		})
	}
}
