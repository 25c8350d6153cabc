// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"testing"
	"time"
)

func TestGenerationName(t *testing.T) {
	got := GenerationName("openshift-etcd", "etcd-signer", time.Unix(1712345678, 999))
	if want := "openshift-etcd_etcd-signer@1712345678"; got != want {
		t.Errorf("GenerationName = %q, want %q", got, want)
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
