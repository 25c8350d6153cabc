// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/registry/evidence"
)

func TestRecordName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 63)
	tests := []struct {
		name                  string
		domain, party, member string
		wantPrefix            string
		wantExact             bool
	}{
		{name: "labels are readable", domain: "etcd", party: "etcd", member: "node-1",
			wantPrefix: "certrotation-evidence-etcd.etcd.node-1", wantExact: true},
		{name: "the longest labels", domain: long, party: long, member: long,
			wantPrefix: "certrotation-evidence-" + long + "." + long + "." + long, wantExact: true},
		{name: "a full domain name is hashed", domain: "etcd", party: "etcd", member: "node-1.example.com",
			wantPrefix: "certrotation-evidence-etcd-etcd-node-1-example-com."},
		{name: "a long name is cut", domain: "etcd", party: "etcd", member: strings.Repeat("n", 253),
			wantPrefix: "certrotation-evidence-etcd-etcd-nnn"},
		{name: "other characters", domain: "Etcd", party: "a/b", member: "ü",
			wantPrefix: "certrotation-evidence-etcd-a-b."},
		{name: "no names", wantPrefix: "certrotation-evidence."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := evidence.RecordName(tt.domain, tt.party, tt.member)
			if !strings.HasPrefix(got, tt.wantPrefix) || tt.wantExact && got != tt.wantPrefix {
				t.Errorf("RecordName() = %q, want %q (exactly: %t)", got, tt.wantPrefix, tt.wantExact)
			}
			if errs := validation.IsDNS1123Subdomain(got); len(errs) > 0 {
				t.Errorf("RecordName() = %q is no name of a ConfigMap: %v", got, errs)
			}
		})
	}
}

func TestRecordNameIsInjective(t *testing.T) {
	t.Parallel()
	// Few characters, so that names which differ only in where they are split are likely.
	word := rapid.OneOf(rapid.StringMatching(`[a.A-]{0,4}`), rapid.StringN(0, 300, 300))
	rapid.Check(t, func(t *rapid.T) {
		var a, b [3]string
		for i := range a {
			a[i], b[i] = word.Draw(t, "a"), word.Draw(t, "b")
		}
		nameA, nameB := evidence.RecordName(a[0], a[1], a[2]), evidence.RecordName(b[0], b[1], b[2])
		if (nameA == nameB) != (a == b) {
			t.Fatalf("%q and %q have the names %q and %q", a, b, nameA, nameB)
		}
		if errs := validation.IsDNS1123Subdomain(nameA); len(errs) > 0 {
			t.Fatalf("%q has the invalid name %q: %v", a, nameA, errs)
		}
	})
}
