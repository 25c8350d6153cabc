// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

// TestPlanReissue names certificates by their subjects: CAs to re-sign, the signer of the leaf, and the anchors to
// keep, replace and drop.
func TestPlanReissue(t *testing.T) {
	past, later := now().Add(-time.Hour), now().Add(life/2)
	a, b, valid, foreign := authority(t, "a", past), authority(t, "b", past), authority(t, "v", later), authority(t, "f", later)
	again, err := a.Resign(now())
	if err != nil {
		t.Fatal(err)
	}
	lost := authority(t, "lost", past)
	signer := func(pairs ...*pki.Pair) []Signer {
		s := Signer{Name: "etcd-signer"}
		for _, p := range pairs {
			s.Authorities = append(s.Authorities, p.Certificate)
		}
		return []Signer{s}
	}
	type outcome struct {
		Resign, Leaves, Keep, Resigned, Dropped string
		Changes                                 bool
	}
	for name, tc := range map[string]struct {
		leaf    *pki.Pair
		anchors []*pki.Pair
		signers []Signer
		want    outcome
		wrong   string
	}{
		"all expired": {leaf: leaf(t, a, "x", past), anchors: []*pki.Pair{a}, signers: signer(a),
			want: outcome{Resign: "a", Leaves: "a", Resigned: "a", Changes: true}},
		"the leaf alone": {leaf: leaf(t, valid, "x", past), anchors: []*pki.Pair{valid}, signers: signer(valid),
			want: outcome{Leaves: "v", Keep: "v"}},
		"nothing": {leaf: leaf(t, valid, "x", later), anchors: []*pki.Pair{valid}, signers: signer(valid), want: outcome{Keep: "v"}},
		"in the middle of a rotation, before this node has the new anchor": {leaf: leaf(t, a, "x", past), anchors: []*pki.Pair{a}, signers: signer(a, valid),
			want: outcome{Resign: "a", Leaves: "a", Keep: "v", Resigned: "a", Changes: true}},
		"in the middle of a rotation, with a leaf of the old one": {leaf: leaf(t, a, "x", past), anchors: []*pki.Pair{a, b}, signers: signer(b, a),
			want: outcome{Resign: "a b", Leaves: "a", Resigned: "b a", Changes: true}},
		"in the middle of a rotation, with a leaf of the new one": {leaf: leaf(t, b, "x", past), anchors: []*pki.Pair{a, b}, signers: signer(a, b),
			want: outcome{Resign: "b a", Leaves: "b", Resigned: "a b", Changes: true}},
		"an anchor whose key nobody has": {leaf: leaf(t, a, "x", past), anchors: []*pki.Pair{lost, a}, signers: signer(a),
			want: outcome{Resign: "a", Leaves: "a", Resigned: "a", Dropped: "lost", Changes: true}},
		"an anchor of somebody else that is valid": {leaf: leaf(t, a, "x", past), anchors: []*pki.Pair{foreign, a}, signers: signer(a),
			want: outcome{Resign: "a", Leaves: "a", Keep: "f", Resigned: "a", Changes: true}},
		"re-signed by an earlier recovery":                {leaf: leaf(t, again, "x", later), anchors: []*pki.Pair{again}, signers: signer(a), want: outcome{Keep: "a"}},
		"the key of the leaf's signer is lost":            {leaf: leaf(t, lost, "x", past), anchors: []*pki.Pair{lost, a}, signers: signer(a), wrong: "give the Secret"},
		"no signer":                                       {leaf: leaf(t, a, "x", past), anchors: []*pki.Pair{a}, wrong: "there are none"},
		"the trust alone has expired and its key is lost": {leaf: leaf(t, valid, "x", later), anchors: []*pki.Pair{lost}, signers: signer(a), wrong: "every anchor"},
	} {
		t.Run(name, func(t *testing.T) {
			var anchors []*pki.Certificate
			for _, p := range tc.anchors {
				anchors = append(anchors, p.Certificate)
			}
			plan, err := PlanReissue(generation(7, tc.leaf, anchors...), tc.signers, now())
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Fatalf("error %v, want one that says %q", err, tc.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := outcome{Keep: common(plan.Trust[0].Keep), Resigned: common(plan.Trust[0].Resigned), Dropped: common(plan.Trust[0].Dropped), Changes: plan.TrustChanges()}
			for _, r := range plan.Resign {
				got.Resign = strings.TrimSpace(got.Resign + " " + r.Certificate.CommonName)
			}
			for _, l := range plan.Leaves {
				got.Leaves += l.Authority.CommonName
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
			if plan.NothingToDo() != (!got.Changes && got.Leaves == "") {
				t.Error("NothingToDo disagrees with the plan")
			}
		})
	}
}

func common(certs []*pki.Certificate) string {
	var out []string
	for _, c := range certs {
		out = append(out, c.CommonName)
	}
	return strings.Join(out, " ")
}

func TestProfileOf(t *testing.T) {
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "a", Key: pki.ECDSAP256, Validity: 2 * life, Backdate: 3 * life}, now())
	if err != nil {
		t.Fatal(err)
	}
	old := leaf(t, ca, "x", now().Add(-time.Hour)).Certificate
	made, err := ca.Issue(ProfileOf(old), now())
	if err != nil {
		t.Fatal(err)
	}
	c := made.Certificate
	if c.Subject != old.Subject || c.KeyAlgorithm != old.KeyAlgorithm || !slices.Equal(c.Usages, old.Usages) ||
		!slices.Equal(c.IPAddresses, old.IPAddresses) || !slices.Equal(c.DNSNames, old.DNSNames) {
		t.Errorf("the successor is %+v, want the likes of %+v", c, old)
	}
	if got, want := c.NotAfter.Sub(c.NotBefore), old.NotAfter.Sub(old.NotBefore); got != want {
		t.Errorf("it lives %s, want %s", got, want)
	}
	if c.PublicKeyHash == old.PublicKeyHash {
		t.Error("the key is the old one")
	}
}
