// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long, longest := strings.Repeat("n", 63), strings.Repeat("n", 253)
	tests := []struct {
		name, got string
		// want is the name, or its part before a hash.
		want   string
		hashed bool
	}{
		{name: "roster", got: record.RosterName("etcd"), want: "roster.etcd"},
		{name: "rotation of a Secret", got: record.RequestName(trust.RequestRotate, "etcd-signer"), want: "rotate.etcd-signer"},
		{name: "abort", got: record.RequestName(trust.RequestAbort, "etcd.signer"), want: "abort.etcd.signer"},
		{name: "waiver", got: record.WaiverName("etcd", "clients", "a"), want: "waiver.etcd.clients.a"},
		{name: "evidence", got: record.EvidenceName("etcd", "etcd", "node-1"), want: "evidence.etcd.etcd.node-1"},
		{name: "refusal", got: record.RefusalName("ConfigMap/etcd-ca-bundle"), want: "refusal.configmap.etcd-ca-bundle"},
		{name: "a full domain name at the end", got: record.EvidenceName("etcd", "etcd", "node-1.example.com"),
			want: "evidence.etcd.etcd.node-1.example.com"},
		{name: "the longest labels", got: record.EvidenceName(long, "p", long), want: "evidence." + long + ".p." + long},
		{name: "a dot before the end", got: record.EvidenceName("etcd", "a.b", "c"),
			want: "evidence-hash.etcd-a-b-c.", hashed: true},
		{name: "too long", got: record.EvidenceName("etcd", "etcd", longest), want: "evidence-hash.etcd-etcd-nnn", hashed: true},
		{name: "a Secret with the longest name", got: record.RequestName(trust.RequestRotate, longest), want: "rotate-hash.nnn", hashed: true},
		{name: "other characters", got: record.WaiverName("Etcd", "a/b", "ü"), want: "waiver-hash.etcd-a-b.", hashed: true},
		{name: "no names", got: record.EvidenceName("", "", ""), want: "evidence-hash.", hashed: true},
		{name: "a kind that others may spell differently", got: record.RefusalName("Configmap/x"), want: "refusal-hash.configmap-x.", hashed: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.hashed && !strings.HasPrefix(tt.got, tt.want) || !tt.hashed && tt.got != tt.want {
				t.Errorf("the name is %q, want %q (with a hash: %t)", tt.got, tt.want, tt.hashed)
			}
			if errs := validation.IsDNS1123Subdomain(tt.got); len(errs) > 0 {
				t.Errorf("%q is no name of an object: %v", tt.got, errs)
			}
		})
	}
}

// thing is the subject of a record.
type thing struct {
	kind  string
	parts [3]string
}

func (x thing) record() string {
	switch p := x.parts; x.kind {
	case "roster":
		return record.RosterName(p[0])
	case "rotate":
		return record.RequestName(trust.RequestRotate, p[0])
	case "abort":
		return record.RequestName(trust.RequestAbort, p[0])
	case "waiver":
		return record.WaiverName(p[0], p[1], p[2])
	case "refusal":
		return record.RefusalName(p[0])
	default:
		return record.EvidenceName(p[0], p[1], p[2])
	}
}

// about returns the parts that the name must distinguish.
func (x thing) about() thing {
	if x.kind != "waiver" && x.kind != "evidence" {
		x.parts[1], x.parts[2] = "", ""
	}
	return x
}

func TestNamesAreInjective(t *testing.T) {
	t.Parallel()
	// Draw from few characters, so that names which differ only in where they split are likely.
	word := rapid.OneOf(rapid.StringMatching(`[a.A-]{0,4}`), rapid.StringN(0, 300, 300),
		rapid.StringMatching(`(Secret|secret|ConfigMap)?/?[a.]{0,2}`))
	kind := rapid.SampledFrom([]string{"roster", "rotate", "abort", "waiver", "evidence", "refusal"})
	property.Check(t, func(t *rapid.T) {
		var things [2]thing
		for i := range things {
			things[i].kind = kind.Draw(t, "kind")
			for j := range things[i].parts {
				things[i].parts[j] = word.Draw(t, "part")
			}
		}
		x, y := things[0], things[1]
		if (x.record() == y.record()) != (x.about() == y.about()) {
			t.Fatalf("%q and %q have the names %q and %q", x, y, x.record(), y.record())
		}
		for _, x := range things {
			if errs := validation.IsDNS1123Subdomain(x.record()); len(errs) > 0 {
				t.Fatalf("%q has the invalid name %q: %v", x, x.record(), errs)
			}
		}
	})
}
