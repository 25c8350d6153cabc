// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

func TestHeldByAll(t *testing.T) {
	a, b, c := authority(t, "a").Certificate, authority(t, "b").Certificate, authority(t, "c").Certificate
	entry := func(name string, anchors ...*pki.Certificate) Entry { return Entry{Name: name, Anchors: anchors} }
	for name, test := range map[string]struct {
		entries []Entry
		want    []*pki.Certificate
		failure string
	}{
		"one caBundle":                     {[]Entry{entry("", a, b)}, []*pki.Certificate{a, b}, ""},
		"what all have":                    {[]Entry{entry("x", a, b), entry("y", c, a)}, []*pki.Certificate{a}, ""},
		"nothing that all have":            {[]Entry{entry("x", a), entry("y", b)}, nil, ""},
		"none":                             {nil, nil, "take it out of bundle.injectInto"},
		"one is empty":                     {[]Entry{entry("x", a), entry("y")}, nil, "the caBundle of its webhook y is empty: it was not injected yet"},
		"the only one is empty":            {[]Entry{entry("")}, nil, "the caBundle is empty"},
		"one cannot be read":               {[]Entry{entry("x", a), {Name: "y", Fault: "no PEM"}}, nil, "the caBundle of its webhook y cannot be read: no PEM"},
		"the only one cannot be read here": {[]Entry{{Fault: "no PEM"}}, nil, "the caBundle cannot be read: no PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			var want []pki.Fingerprint
			for _, anchor := range test.want {
				want = append(want, anchor.Fingerprint)
			}
			slices.Sort(want)
			got, failure := HeldByAll(test.entries)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("anchors (-want +got):\n%s", diff)
			}
			if (failure == "") != (test.failure == "") || !strings.Contains(failure, test.failure) {
				t.Errorf("failure %q, want %q", failure, test.failure)
			}
		})
	}
}
