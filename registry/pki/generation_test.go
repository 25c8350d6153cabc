// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"strings"
	"testing"
	"time"
)

func TestGenerationName(t *testing.T) {
	got := GenerationName("openshift-etcd", "etcd-signer", time.Unix(1712345678, 999))
	if want := "openshift-etcd_etcd-signer@1712345678"; got != want {
		t.Errorf("GenerationName = %q, want %q", got, want)
	}
}

// TestGenerationNameFits: verifiers that keep to RFC 5280 drop a CA whose common name has more than 64 characters.
func TestGenerationNameFits(t *testing.T) {
	namespace, long := "ns", strings.Repeat("a-long-name.", 20)
	got := GenerationName(namespace, long, testNow)
	if len(got) > MaxCommonName || !strings.HasPrefix(got, "ns_a-long-name.") {
		t.Errorf("GenerationName = %q, of %d characters", got, len(got))
	}
	if full := namespace + "_" + long + "@1712345678"; !IsGenerationOf(full, namespace, long) {
		t.Errorf("%q, as of library-go, is of no Secret", full)
	}
	for name, want := range map[string]bool{long: true, long + "x": false, long[:100]: false} {
		if IsGenerationOf(got, namespace, name) != want {
			t.Errorf("%q is of the Secret %q: %t, want %t", got, name, !want, want)
		}
	}
}

func TestIsGenerationOf(t *testing.T) {
	tests := map[string]struct {
		commonName string
		want       bool
	}{
		"made by GenerationName": {GenerationName("ns", "name", testNow), true},
		"before 1970":            {GenerationName("ns", "name", time.Unix(-5, 0)), true},
		"other namespace":        {"n_name@1", false},
		"other name":             {"ns_name-2@1", false},
		"no time":                {"ns_name@", false},
		"no at":                  {"ns_name", false},
		"empty":                  {"", false},
		"leading zero":           {"ns_name@01", false},
		"plus sign":              {"ns_name@+1", false},
		"text after the time":    {"ns_name@1x", false},
		"beyond 64 bits":         {"ns_name@99999999999999999999", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsGenerationOf(test.commonName, "ns", "name"); got != test.want {
				t.Errorf("IsGenerationOf(%q) = %t, want %t", test.commonName, got, test.want)
			}
		})
	}
}
