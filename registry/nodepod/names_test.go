// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNodeCopyName(t *testing.T) {
	long := strings.Repeat("a", 253)
	type of struct {
		name string
		n    int
		node string
	}
	seen := map[string]of{CopyName("certs-1", 2): {}, CopyName("certs-1-a", 2): {}}
	for _, o := range []of{
		{"certs", 1, "a"}, {"certs", 2, "a"}, {"certs", 1, "b"}, {"certs", 1, "1-a"}, {"certs-1", 1, "a"}, {"certs-1", 2, "b"}, {"certs", 1, "2-b"},
		{"certs", 1, "a.b"}, {"certs", 1, "a-b"}, {"certs", 12, "3"}, {"certs", 1, "2-3"}, {"certs", 1, long}, {"certs", 1, long[:252] + "b"}, {long, 1, "a"}, {long, 1, "b"},
	} {
		got := NodeCopyName(o.name, o.n, o.node)
		if other, ok := seen[got]; ok {
			t.Errorf("%v and %v have the name %s", o, other, got)
		}
		seen[got] = o
		if faults := validation.IsDNS1123Subdomain(got); len(faults) > 0 {
			t.Errorf("%v: %s: %v", o, got, faults)
		}
	}
	if got := NodeCopyName("certs", 7, "master-0"); !strings.HasPrefix(got, "certs-7-master-0-n") {
		t.Errorf("got %s", got)
	}
}
