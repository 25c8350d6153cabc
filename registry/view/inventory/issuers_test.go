// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// TestKeepIssuers: ca.crt of a signer has the issuers that a CA in the Secret needs and no slot holds, and keeps what a
// person has put there.
func TestKeepIssuers(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	profile := func(name string) pki.Profile {
		return pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Hour, Subordinates: true}
	}
	root := func(name string) *pki.Pair {
		pair, err := pki.NewAuthority(profile(name), now)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	under := func(issuer *pki.Pair, name string) *pki.Pair {
		pair, err := issuer.IssueAuthority(profile(name), now)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	one, two, other := root("one"), root("two"), root("other")
	former, current := under(one, "former"), under(two, "current")
	alone := root("alone")
	tests := map[string]struct {
		active, previous, left *pki.Pair
		beside                 []*pki.Pair
		want                   []*pki.Pair
	}{
		"a former CA leaves its slot":              {active: current, previous: former, left: former, want: []*pki.Pair{one}},
		"it is destroyed":                          {active: current, left: former, beside: []*pki.Pair{one}},
		"beside what a person has put there":       {active: current, left: former, beside: []*pki.Pair{other, one}, want: []*pki.Pair{other}},
		"one of the same root":                     {active: under(one, "c"), left: former, beside: []*pki.Pair{one}, want: []*pki.Pair{one}},
		"a self-signed one, and ca.crt is its own": {active: alone, previous: root("old"), left: root("old"), beside: []*pki.Pair{alone}, want: []*pki.Pair{alone}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			put := func(slot Slot, pair *pki.Pair) {
				if pair != nil && slot.Put(data, pair) != nil {
					t.Fatal("put")
				}
			}
			put(ActiveSlot, tt.active)
			put(PreviousSlot, tt.previous)
			for _, pair := range tt.beside {
				data[AuthorityKey] = append(data[AuthorityKey], pair.Certificate.PEM()...)
			}
			KeepIssuers(data, tt.left)
			got := certificatesUnder(data, AuthorityKey)
			if len(got) != len(tt.want) {
				t.Fatalf("ca.crt holds %d certificates, want %d", len(got), len(tt.want))
			}
			for i, want := range tt.want {
				if !got[i].Equal(want.Certificate) {
					t.Errorf("certificate %d is %s, want %s", i, got[i].Subject, want.Certificate.Subject)
				}
			}
			if _, there := data[AuthorityKey]; there != (len(tt.want) > 0) {
				t.Error("an empty ca.crt")
			}
		})
	}
}
