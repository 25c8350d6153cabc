// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func TestUnnamedLeaves(t *testing.T) {
	t.Parallel()
	ca, next, former, foreign := authority(t, "ca"), authority(t, "next"), authority(t, "former"), authority(t, "foreign")
	intermediate, err := ca.Issue(pki.Profile{CommonName: "x", Key: pki.ECDSAP256, Validity: time.Minute, Usages: []pki.Usage{pki.ClientAuth}}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	held := issue(t, ca, "web-client")
	labelled := func(secret *corev1.Secret, key, value string) *corev1.Secret {
		secret.Labels[key] = value
		return secret
	}
	roster := func(leaves ...string) any {
		out, err := record.OfRoster(testNamespace, "web", &trust.Roster{Leaves: leaves})
		if err != nil {
			t.Fatal(err)
		}
		return stored(out)
	}
	tests := []struct {
		name    string
		objects []any
		// config replaces webConfig.
		config string
		want   []string
	}{
		{name: "a leaf of the active CA", objects: []any{pairSecret(t, "x", issue(t, ca, "x"))}, want: []string{"x"}},
		{name: "a leaf of the next CA", objects: []any{pairSecret(t, "x", issue(t, next, "x"))}, want: []string{"x"}},
		{name: "a leaf of an anchor", objects: []any{pairSecret(t, "x", issue(t, former, "x"))}, want: []string{"x"}},
		{name: "a leaf of a foreign CA", objects: []any{pairSecret(t, "x", issue(t, foreign, "x"))}},
		{name: "a leaf of a foreign CA with the labels", want: []string{"x"},
			objects: []any{labelled(pairSecret(t, "x", issue(t, foreign, "x")), trust.LabelManagedType, trust.ManagedTypeTarget)}},
		{name: "somebody's Secret that a CA of the signer has signed", objects: []any{theirs(pairSecret(t, "x", issue(t, ca, "x")))}, want: []string{"x"}},
		{name: "somebody's Secret of an anchor", objects: []any{theirs(pairSecret(t, "x", issue(t, former, "x")))}},
		{name: "somebody's Secret with the labels",
			objects: []any{theirs(labelled(pairSecret(t, "x", issue(t, foreign, "x")), trust.LabelManagedType, trust.ManagedTypeTarget))}},
		{name: "somebody's Secret that a configuration named once",
			objects: []any{theirs(pairSecret(t, "x", issue(t, foreign, "x"))), roster("x")}},
		{name: "a leaf of another configuration", objects: []any{adoptedBy("other", pairSecret(t, "x", issue(t, former, "x"))), roster("x")}},
		{name: "a leaf with the label of another domain",
			objects: []any{labelled(labelled(pairSecret(t, "x", issue(t, foreign, "x")), trust.LabelManagedType, trust.ManagedTypeTarget), trust.LabelTrustDomain, "other")}},
		{name: "a signer with the label", objects: []any{labelled(pairSecret(t, "x", foreign), trust.LabelManagedType, trust.ManagedTypeSigner)}},
		{name: "a broken leaf with the labels", want: []string{"x"},
			objects: []any{labelled(tlsSecret("x", map[string][]byte{inventory.ActiveCertKey: []byte("x")}), trust.LabelManagedType, trust.ManagedTypeTarget)}},
		{name: "a leaf of the roster", objects: []any{pairSecret(t, "x", issue(t, foreign, "x")), roster("w", "x", "y")}, want: []string{"x"}},
		{name: "a leaf of the roster that is gone", objects: []any{roster("x")}},
		{name: "a leaf of the roster that the configuration names", objects: []any{roster("web-client")}},
		{name: "a released leaf", objects: []any{pairSecret(t, "x", issue(t, ca, "x")), pairSecret(t, "y", issue(t, ca, "y")), roster("x", "y")},
			config: strings.Replace(webConfig, "- name: web\n", "- name: web\n  releasedLeaves: [x]\n", 1), want: []string{"y"}},
		{name: "a copy", objects: []any{labelled(pairSecret(t, "x", issue(t, ca, "x")), trust.LabelCopyOf, "demo.web-client")}},
		{name: "a copy of the configuration", objects: []any{pairSecret(t, "x", issue(t, ca, "x"))},
			config: webConfig + "copies: [{kind: Secret, name: web-client, toName: x}]\n"},
		{name: "a copy of the signer", objects: []any{pairSecret(t, "backup", ca)}},
		{name: "a leaf that another configuration names",
			objects: []any{pairSecret(t, "other-client", issue(t, ca, "x")), configuration("other", disjointConfig("other"))}},
		{name: "an immutable copy of a leaf that the configuration names", objects: []any{
			pairSecret(t, "web-client", held), pairSecret(t, "web-client-0a1b2c3d", held), theirs(pairSecret(t, "theirs", held)),
		}},
		{name: "an immutable copy of what such a leaf was before", objects: []any{
			pairSecret(t, "web-client", issue(t, ca, "web-client")), pairSecret(t, "web-client-0a1b2c3d", held),
		}, want: []string{"web-client-0a1b2c3d"}},
		{name: "a copy of a leaf that is gone", objects: []any{pairSecret(t, "web-client-0a1b2c3d", held)}, want: []string{"web-client-0a1b2c3d"}},
		{name: "a chain", objects: []any{pairSecret(t, "x", intermediate)}, want: []string{"x"}},
		{name: "an aggregate", objects: []any{labelled(opaqueSecret("all-certs", map[string][]byte{"x.crt": ca.CertPEM()}), trust.LabelAggregate, "")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			signer := pairSecret(t, "web-signer", ca)
			signer.Data[inventory.NextCertKey], signer.Data[inventory.NextKeyKey] = next.CertPEM(), keyPEM(t, next)
			text := tt.config
			if text == "" {
				text = webConfig
			}
			n := inventory.Build(sources(t, slices.Concat(tt.objects, []any{
				configuration("config", text), signer, bundle("web-bundle", ca.Certificate, former.Certificate), node("n1", "10.0.0.1"),
			})...))
			d := n.Domain("web")
			var got []string
			for _, l := range d.Leaves {
				claim, claimed := n.Claim(trust.SecretKind, l.Name)
				if !claimed || claim != (inventory.Claim{Domain: "web", Kind: inventory.ClaimLeaf, Configuration: "config"}) {
					t.Errorf("leaf %s is claimed as %v", l.Name, claim)
				}
				if l.Unnamed != (l.Template == "") || l.Unnamed && !l.Present {
					t.Errorf("leaf = %+v", l)
				}
				if l.Unnamed {
					got = append(got, l.Name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("leaves that are not named (-want +got):\n%s", diff)
			}
			if names := leafNames(d); !slices.IsSorted(names) || len(names) != len(got)+2 {
				t.Errorf("leaves = %v", names)
			}
			if diff := cmp.Diff([]string{"web-serving-n1"}, n.Aggregates[0].Leaves); diff != "" {
				t.Errorf("aggregated leaves (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnnamedLeafHasItsNames(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	leaf := issue(t, ca, "x")
	n := inventory.Build(sources(t, configuration("config", webConfig), pairSecret(t, "web-signer", ca), pairSecret(t, "x", leaf)))
	got := n.Domain("web").Leaves[1]
	if got.Name != "x" || !got.Certificate.Equal(leaf.Certificate) || len(got.Authorities) != 1 {
		t.Fatalf("leaf = %+v", got)
	}
	want := pki.Profile{CommonName: "x", DNSNames: []string{"x.old"}, IPAddresses: []string{"10.9.9.9"}}
	if diff := cmp.Diff(want, got.Policy.Profile); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
}

// TestAggregateKeepsWhatCounts: a member that reads its leaf from an aggregate can still start after its node lost
// its label.
func TestAggregateKeepsWhatCounts(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	leaf := issue(t, ca, "n2")
	aggregated := func(names ...string) any {
		data := map[string][]byte{}
		for _, name := range names {
			cert, key := inventory.AggregateKeys(name)
			data[cert], data[key] = leaf.CertPEM(), keyPEM(t, leaf)
		}
		secret := opaqueSecret("all-certs", data)
		secret.Labels = map[string]string{trust.LabelAggregate: "true"}
		return secret
	}
	unnamed := pairSecret(t, "web-serving-n2", leaf)
	gone, err := record.OfRoster(testNamespace, "web", &trust.Roster{Members: []trust.RosterMember{
		{Party: "clients", Member: "n2", Instance: "uid", Kind: trust.TLSProbe, Presents: []string{unnamed.Name}, Absent: "its node is gone"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	absent := stored(gone)
	tests := []struct {
		name    string
		objects []any
		want    []string
		foreign int
	}{
		{name: "its pair is in it", objects: []any{unnamed, aggregated("web-serving-n1", "web-serving-n2")},
			want: []string{"web-serving-n1", "web-serving-n2"}},
		{name: "its pair is not in it", objects: []any{unnamed, aggregated("web-serving-n1")}, want: []string{"web-serving-n1"}},
		{name: "its holder is proven to be gone", objects: []any{unnamed, aggregated("web-serving-n1", "web-serving-n2"), absent},
			want: []string{"web-serving-n1"}, foreign: 2},
		{name: "its Secret is gone", objects: []any{aggregated("web-serving-n1", "web-serving-n2")}, want: []string{"web-serving-n1"}, foreign: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := inventory.Build(sources(t, slices.Concat(tt.objects, []any{
				configuration("config", webConfig), pairSecret(t, "web-signer", ca), bundle("web-bundle", ca.Certificate), node("n1", "10.0.0.1"),
			})...))
			if diff := cmp.Diff(tt.want, n.Aggregates[0].Leaves); diff != "" {
				t.Errorf("aggregated leaves (-want +got):\n%s", diff)
			}
			if got := n.Aggregates[0].Foreign; len(got) != tt.foreign {
				t.Errorf("foreign entries %v, want %d", got, tt.foreign)
			}
		})
	}
}
