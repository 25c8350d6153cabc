// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"certrotation.dev/test/property"
)

func partyOf(name string, kind EvidenceKind, presents, verifies []string) RelyingParty {
	return RelyingParty{
		Name:     name,
		Presents: presents,
		Verifies: LeafSelection{Leaves: verifies},
		Evidence: Evidence{Kind: kind},
	}
}

func domainOf(parties ...RelyingParty) *TrustDomain {
	domain := &TrustDomain{RelyingParties: parties}
	for _, name := range []string{"a", "b", "c", "d"} {
		domain.Leaves = append(domain.Leaves, Leaf{SecretName: name, Usages: []Usage{ServerAuth, ClientAuth}})
	}
	return domain
}

func TestValidateRenewalOrder(t *testing.T) {
	const renewed, ack = EvidenceRenewed, EvidenceAcknowledgement
	list := func(names ...string) []string { return names }
	for _, tc := range []struct {
		name   string
		domain *TrustDomain
		want   []string
		detail string
	}{
		{name: "no party", domain: domainOf()},
		{
			name:   "each waits for the other",
			domain: domainOf(partyOf("x", renewed, list("a"), list("b")), partyOf("y", renewed, list("b"), list("a"))),
			want:   []string{"FieldValueInvalid relyingParties[0].evidence.kind"},
			detail: "x renews a only when y trusts the new CA, and y renews b only when x trusts the new CA",
		},
		{
			name:   "one of them is proven otherwise",
			domain: domainOf(partyOf("x", renewed, list("a"), list("b")), partyOf("y", ack, list("b"), list("a"))),
		},
		{
			name:   "a chain",
			domain: domainOf(partyOf("x", renewed, list("a"), list("d")), partyOf("y", renewed, list("b"), list("a")), partyOf("z", renewed, list("c"), list("b"))),
		},
		{
			name:   "a party that verifies its own leaf",
			domain: domainOf(partyOf("w", ack, nil, nil), partyOf("x", renewed, list("a"), list("a"))),
			want:   []string{"FieldValueInvalid relyingParties[1].evidence.kind"},
			detail: "x renews a only when x trusts the new CA",
		},
		{
			name:   "the empty selection verifies its own leaf too",
			domain: domainOf(partyOf("x", renewed, list("a"), nil)),
			want:   []string{"FieldValueInvalid relyingParties[0].evidence.kind"},
		},
		{
			name:   "a cycle that is entered through a leaf",
			domain: domainOf(partyOf("w", renewed, list("a"), list("d")), partyOf("x", renewed, list("a"), list("a"))),
			want:   []string{"FieldValueInvalid relyingParties[1].evidence.kind"},
		},
		{
			name: "two cycles",
			domain: domainOf(
				partyOf("w", renewed, list("a"), list("b")), partyOf("x", renewed, list("b"), list("a")),
				partyOf("y", renewed, list("c"), list("d")), partyOf("z", renewed, list("d"), list("c"))),
			want: []string{"FieldValueInvalid relyingParties[0].evidence.kind", "FieldValueInvalid relyingParties[2].evidence.kind"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs := validateRenewalOrder(tc.domain, field.NewPath("relyingParties"))
			if diff := cmp.Diff(tc.want, summary(errs)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if len(errs) > 0 && !strings.Contains(errs[0].Detail, tc.detail) {
				t.Errorf("detail %q does not contain %q", errs[0].Detail, tc.detail)
			}
		})
	}
}

// progresses simulates a rotation until nothing changes, and reports whether all parties trust the new CA.
func progresses(domain *TrustDomain) bool {
	trusts, signed := map[string]bool{}, map[string]bool{}
	for range len(domain.RelyingParties) + len(domain.Leaves) {
		for _, leaf := range domain.Leaves {
			signed[leaf.SecretName] = true
			for _, party := range domain.RelyingParties {
				if party.Verifies.Matches(leaf) && !trusts[party.Name] {
					signed[leaf.SecretName] = false
				}
			}
		}
		for _, party := range domain.RelyingParties {
			trusts[party.Name] = true
			for _, leaf := range party.Presents {
				if party.Evidence.Kind == EvidenceRenewed && !signed[leaf] {
					trusts[party.Name] = false
				}
			}
		}
	}
	for _, party := range domain.RelyingParties {
		if !trusts[party.Name] {
			return false
		}
	}
	return true
}

func TestRenewalOrderIsRefusedExactlyWhenItCannotProgress(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		leaves := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3, rapid.ID[string])
		kinds := rapid.SampledFrom([]EvidenceKind{EvidenceRenewed, EvidenceRenewed, EvidenceAcknowledgement})
		var parties []RelyingParty
		for i := range rapid.IntRange(1, 5).Draw(t, "parties") {
			parties = append(parties, partyOf(fmt.Sprintf("p%d", i), kinds.Draw(t, "kind"),
				leaves.Draw(t, "presents"), leaves.Draw(t, "verifies")))
		}
		domain := domainOf(parties...)
		refused := len(validateRenewalOrder(domain, field.NewPath("relyingParties"))) > 0
		if refused == progresses(domain) {
			t.Fatalf("refused is %t, but a rotation progresses is %t", refused, progresses(domain))
		}
	})
}
