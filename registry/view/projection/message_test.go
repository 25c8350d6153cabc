// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

func TestBlockersText(t *testing.T) {
	tests := map[string]struct {
		blockers []trust.Blocker
		want     string
	}{
		"member":            {[]trust.Blocker{{Party: "etcd", Member: "east", Message: "reload"}}, "etcd/east: reload"},
		"lone member":       {[]trust.Blocker{{Party: "client-a", Member: "client-a", Message: "reload"}}, "client-a: reload"},
		"object":            {[]trust.Blocker{{Object: "Secret/a", Message: "repair it"}}, "Secret/a: repair it"},
		"named in the text": {[]trust.Blocker{{Party: "etcd", Member: "east", Message: "etcd/east has not reloaded"}}, "etcd/east has not reloaded"},
		"two":               {[]trust.Blocker{{Object: "a", Message: "x"}, {Object: "b", Message: "y"}}, "a: x; b: y"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := blockersText(tt.blockers); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestManyBlockersAreCounted(t *testing.T) {
	var blockers []trust.Blocker
	for i := range 1000 {
		blockers = append(blockers, trust.Blocker{Party: "etcd", Member: fmt.Sprintf("node-%d", i), Message: "has not loaded the anchor"})
	}
	got := blockersText(blockers)
	if len(got) > maxMessage || !strings.HasSuffix(got, " more") || !strings.HasPrefix(got, "etcd/node-0: ") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestBoundedNeverBreaksACharacter(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		in := rapid.StringN(0, 2000, -1).Draw(t, "message")
		out := bounded(in)
		if len(out) > maxMessage || utf8.ValidString(in) && !utf8.ValidString(out) {
			t.Fatalf("%d bytes of %d: %q", len(out), len(in), out)
		}
	})
}
