// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

func TestContent(t *testing.T) {
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := Content{
		ConfigMaps: map[string]map[string][]byte{"bundles": {"good": ca.Certificate.PEM(), "bad": []byte("x"), "empty": nil}},
		Secrets:    map[string]map[string][]byte{"certs": {"a.crt": ca.CertPEM(), "b.crt": []byte("x")}},
	}
	for _, test := range []struct {
		configMap, key string
		anchors        int
		failure        string
	}{
		{"bundles", "good", 1, ""},
		{"bundles", "bad", 0, "cannot be read under the key bad"},
		{"bundles", "empty", 0, "cannot be read"},
		{"bundles", "none", 0, "has no key none in its ConfigMap bundles"},
		{"others", "good", 0, "has no key good"},
	} {
		anchors, failure := Trusts(c, test.configMap, test.key)
		if len(anchors) != test.anchors || (failure == "") != (test.failure == "") || !strings.Contains(failure, test.failure) {
			t.Errorf("%s/%s: %d anchors, %q; want %d, %q", test.configMap, test.key, len(anchors), failure, test.anchors, test.failure)
		}
	}
	want := []pki.Fingerprint{ca.Certificate.Fingerprint}
	if got := Presents(c, "certs", []string{"a.crt", "b.crt", "c.crt"}); !slices.Equal(got, want) {
		t.Errorf("presents %v, want %v", got, want)
	}
	if got := Presents(c, "others", []string{"a.crt"}); got != nil {
		t.Errorf("presents %v out of a Secret that is not there", got)
	}
	r := Revision{Number: 1, ContentHash: c.ContentHash(), RestartHash: c.RestartHash()}
	if failure := Prove(r, c); failure != "" {
		t.Error(failure)
	}
	for name, other := range map[string]Revision{
		"no hash":              {Number: 1},
		"another content hash": {Number: 1, ContentHash: c.RestartHash(), RestartHash: c.RestartHash()},
		"another restart hash": {Number: 1, ContentHash: c.ContentHash(), RestartHash: c.ContentHash()},
	} {
		if failure := Prove(other, c); !strings.Contains(failure, "revision-status-1") {
			t.Errorf("%s: %q", name, failure)
		}
	}
}
