// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseCopiesFrom(t *testing.T) {
	secret := AcceptedCopy{From: "demo", Kind: SecretKind, Name: "client"}
	bundle := AcceptedCopy{From: "demo", Kind: ConfigMapKind, Name: "ca.bundle"}
	tests := []struct {
		name, text string
		accepted   []AcceptedCopy
		refused    []string
	}{
		{name: "nothing"},
		{name: "commas only", text: " , ,"},
		{name: "two", text: "demo/Secret/client, demo/ConfigMap/ca.bundle", accepted: []AcceptedCopy{secret, bundle}},
		{name: "a whole namespace", text: "demo", refused: []string{"demo"}},
		{name: "everything", text: "*, */*/*, demo/*/client, demo/Secret/*", refused: []string{"*", "*/*/*", "demo/*/client", "demo/Secret/*"}},
		{name: "another kind", text: "demo/secret/client,demo/Pod/client", refused: []string{"demo/secret/client", "demo/Pod/client"}},
		{name: "no name", text: "demo/Secret/", refused: []string{"demo/Secret/"}},
		{name: "a path", text: "demo/Secret/../client", refused: []string{"demo/Secret/../client"}},
		{name: "a bad one takes no other with it", text: "demo,demo/Secret/client", accepted: []AcceptedCopy{secret}, refused: []string{"demo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			accepted, faults := ParseCopiesFrom(tt.text)
			var refused []string
			for _, f := range faults {
				refused = append(refused, f.Entry)
				if f.Why == "" {
					t.Errorf("%q is refused for no reason", f.Entry)
				}
			}
			if diff := cmp.Diff(tt.accepted, accepted); diff != "" {
				t.Errorf("accepted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseCopiesFromIsBounded(t *testing.T) {
	accepted, refused := ParseCopiesFrom(strings.Repeat("demo/Secret/client,", MaxAcceptedCopies) + strings.Repeat("ä", 1000) + ",demo/Secret/last")
	if len(accepted) != MaxAcceptedCopies || len(refused) != 1 {
		t.Fatalf("%d accepted, %d refused", len(accepted), len(refused))
	}
	if r := refused[0].Entry; len(r) > 100 || !utf8.ValidString(r) {
		t.Errorf("an entry of %d bytes is shown", len(r))
	}
}

func FuzzParseCopiesFrom(f *testing.F) {
	f.Add("demo/Secret/client, demo")
	f.Fuzz(func(t *testing.T, text string) {
		accepted, refused := ParseCopiesFrom(text)
		if len(accepted)+len(refused) > MaxAcceptedCopies+1 {
			t.Errorf("%d entries", len(accepted)+len(refused))
		}
		for _, a := range accepted {
			if again, _ := ParseCopiesFrom(a.String()); len(again) != 1 || again[0] != a {
				t.Errorf("%s is read as %v", a, again)
			}
		}
	})
}

func TestJudgeCopy(t *testing.T) {
	copied := AcceptedCopy{From: "demo", Kind: SecretKind, Name: "client"}
	tests := []struct {
		name    string
		edit    func(c *CopyConsent)
		verdict CopyVerdict
		says    string
	}{
		{name: "accepted and asked for", verdict: CopyAllowed},
		{name: "within the namespace nobody else is asked", edit: func(c *CopyConsent) { c.Destination, c.Accepted = "demo", "" }, verdict: CopyAllowed},
		{name: "not accepted", edit: func(c *CopyConsent) { c.Accepted = "" }, verdict: CopyWithdrawn, says: "adding demo/Secret/client to its annotation certrotation.dev/copies-from"},
		{name: "another name", edit: func(c *CopyConsent) { c.Accepted = "demo/Secret/client2" }, verdict: CopyWithdrawn, says: "does not accept Secret/client from namespace demo"},
		{name: "another kind", edit: func(c *CopyConsent) { c.Accepted = "demo/ConfigMap/client" }, verdict: CopyWithdrawn, says: "does not accept"},
		{name: "another namespace", edit: func(c *CopyConsent) { c.Accepted = "demo2/Secret/client" }, verdict: CopyWithdrawn, says: "does not accept"},
		{name: "the whole namespace", edit: func(c *CopyConsent) { c.Accepted = "demo" }, verdict: CopyWithdrawn, says: `("demo" is not of the form`},
		{name: "what is wrong about others is not told", edit: func(c *CopyConsent) { c.Accepted = "secretive" }, verdict: CopyWithdrawn, says: "from namespace demo; whoever"},
		{name: "not asked for any more", edit: func(c *CopyConsent) { c.Asked = false }, verdict: CopyWithdrawn, says: "no configuration of namespace demo"},
		{name: "perhaps asked for", edit: func(c *CopyConsent) { c.Asked, c.Unreadable = false, []string{"web"} }, verdict: CopyUndecided, says: "web cannot be read"},
		{name: "perhaps asked for, and not accepted", edit: func(c *CopyConsent) {
			c.Asked, c.Unreadable, c.Accepted = false, []string{"web"}, ""
		}, verdict: CopyWithdrawn, says: "does not accept"},
		{name: "the source's namespace is not managed", edit: func(c *CopyConsent) { c.SourceManaged = false }, verdict: CopyWithdrawn, says: "certrotation.dev/managed=true"},
		{name: "a namespace that is not managed is not written to", edit: func(c *CopyConsent) {
			c.SourceManaged, c.Destination = false, "demo"
		}, verdict: CopyUndecided, says: "nothing is written in it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &CopyConsent{Copy: copied, Destination: "elsewhere", SourceManaged: true, Asked: true, Accepted: "other/Secret/x, demo/Secret/client"}
			if tt.edit != nil {
				tt.edit(c)
			}
			verdict, says := JudgeCopy(c)
			if verdict != tt.verdict || !strings.Contains(says, tt.says) || (says == "") != (verdict == CopyAllowed) {
				t.Errorf("got %d %q, want %d %q", verdict, says, tt.verdict, tt.says)
			}
		})
	}
}
