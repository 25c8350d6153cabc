// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

func TestViolationLine(t *testing.T) {
	many := make([]string, 9)
	for i := range many {
		many[i] = fmt.Sprintf("server/%d", i)
	}
	for _, tc := range []struct {
		name string
		in   trust.Violation
		want string
	}{
		{
			name: "complete",
			in: trust.Violation{Invariant: trust.TrustBeforeUse, Object: "Secret/service-server", Affected: []string{"client-a", "client-b"},
				Message: "nobody trusts it", SafeWay: "delete it"},
			want: "TrustBeforeUse: Secret/service-server: nobody trusts it (affects client-a, client-b). Safe way: delete it.",
		},
		{
			name: "message that is a sentence",
			in:   trust.Violation{Invariant: trust.NeverEmpty, Object: "ConfigMap/b", Message: "It would be empty."},
			want: "NeverEmpty: ConfigMap/b: It would be empty.",
		},
		{
			name: "many affected",
			in:   trust.Violation{Invariant: trust.AnchorInUse, Object: "ConfigMap/b", Affected: many, Message: "m"},
			want: "AnchorInUse: ConfigMap/b: m (affects server/0, server/1, server/2, server/3, server/4 and 4 more).",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, violationLine(tc.in)); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDenialIsBounded(t *testing.T) {
	var f judgement
	for range 500 {
		f.violations = append(f.violations, trust.Violation{Invariant: trust.AnchorInUse, Object: "ConfigMap/b", Message: strings.Repeat("ä", 3000)})
	}
	v := deny(f, []string{"data[ca-bundle.crt]"})
	v.confirmed = true
	response := v.response("u")
	if n := len(response.Result.Message); n > maxMessageBytes {
		t.Errorf("message of %d bytes", n)
	}
	if n := len(response.Result.Details.Causes); n != maxCauses {
		t.Errorf("%d causes, want %d", n, maxCauses)
	}
	want := map[string]string{"decision": "deny", "invariants": "AnchorInUse", "confirmed": "live"}
	if diff := cmp.Diff(want, response.AuditAnnotations); diff != "" {
		t.Errorf("audit annotations (-want +got):\n%s", diff)
	}
}

func TestTruncate(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(3, 40).Draw(t, "limit")
		got := shortened(text, limit)
		switch {
		case len(got) > limit:
			t.Errorf("%d bytes, limit %d", len(got), limit)
		case !utf8.ValidString(got):
			t.Errorf("cut within a character: %q", got)
		case len(text) <= limit && got != text:
			t.Errorf("changed %q to %q", text, got)
		case !strings.HasPrefix(text, strings.TrimSuffix(got, "...")):
			t.Errorf("%q is no beginning of %q", got, text)
		}
	})
}

func TestFieldOf(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fields []string
		want   string
	}{
		{name: "the object as a whole", fields: []string{""}},
		{name: "one key", fields: []string{"data[tls.crt]"}, want: "data[tls.crt]"},
		{name: "several keys", fields: []string{"data[tls.crt]", "data[tls.key]"}, want: "data"},
		{name: "in different maps", fields: []string{"data[tls.crt]", "metadata.annotations[a]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := fieldOf(tc.fields); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
