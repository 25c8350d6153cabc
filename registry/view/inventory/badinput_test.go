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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// disjointConfig shares no object name with webConfig, but has the same nodes.
func disjointConfig(name string) string {
	text := strings.NewReplacer("web", name, "all-", name+"-all-").Replace(webConfig)
	return strings.ReplaceAll(text, "role: "+name, "role: web")
}

// TestBadInput puts one bad object beside a valid namespace. The problem names that object, and everything else is
// as without it.
func TestBadInput(t *testing.T) {
	t.Parallel()
	ca, foreign := authority(t, "ca"), authority(t, "foreign")
	leaf := issue(t, ca, "leaf")
	brokenPEM := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	signerWith := func(edit func(map[string][]byte)) *corev1.Secret {
		secret := pairSecret(t, "web-signer", ca)
		edit(secret.Data)
		return secret
	}
	leafWith := func(edit func(map[string][]byte)) *corev1.Secret {
		secret := pairSecret(t, "web-client", leaf)
		edit(secret.Data)
		return secret
	}
	tests := []struct {
		name string
		bad  any
		// want is the beginning of the only problem, and wantText a part of it.
		want, wantText string
		check          func(t *testing.T, d *trust.Domain)
	}{
		{
			name: "a leaf that is no PEM",
			bad:  leafWith(func(d map[string][]byte) { d[inventory.ActiveCertKey] = brokenPEM }),
			want: "Secret/web-client Unparsable: tls.crt cannot be read", wantText: "delete the Secret to have it reissued",
			check: func(t *testing.T, d *trust.Domain) {
				if d.Leaves[0].Certificate != nil || !d.Leaves[0].Present {
					t.Errorf("leaf = %+v", d.Leaves[0])
				}
			},
		},
		{
			name: "a leaf with the key of another certificate",
			bad:  leafWith(func(d map[string][]byte) { d[inventory.ActiveKeyKey] = keyPEM(t, foreign) }),
			want: "Secret/web-client KeyMismatch: ", wantText: "tls.key does not belong to the certificate under tls.crt",
			check: func(t *testing.T, d *trust.Domain) {
				if !d.Leaves[0].Certificate.Equal(leaf.Certificate) {
					t.Error("the certificate is not known")
				}
			},
		},
		{
			name: "a leaf without a key",
			bad:  leafWith(func(d map[string][]byte) { d[inventory.ActiveKeyKey] = nil }),
			want: "Secret/web-client Unparsable: tls.key cannot be read", wantText: "no private key",
		},
		{
			name: "an empty leaf",
			bad:  tlsSecret("web-client", map[string][]byte{inventory.ActiveCertKey: nil, inventory.ActiveKeyKey: nil}),
			want: "Secret/web-client Unparsable: tls.crt and tls.key are empty",
		},
		{
			name: "a leaf whose ca.crt is no PEM",
			bad:  leafWith(func(d map[string][]byte) { d[inventory.AuthorityKey] = brokenPEM }),
			want: "Secret/web-client Unparsable: ca.crt cannot be read",
		},
		{
			name: "a leaf of the wrong type",
			bad:  opaqueSecret("web-client", nil),
			want: "Secret/web-client WrongType: ", wantText: "save its data, delete it, and create it again with that type",
			check: func(t *testing.T, d *trust.Domain) {
				if !d.Leaves[0].Present || d.Leaves[0].ResourceVersion != "7" {
					t.Errorf("leaf = %+v", d.Leaves[0].Object)
				}
			},
		},
		{
			name: "a signer of the wrong type",
			bad:  opaqueSecret("web-signer", nil),
			want: "Secret/web-signer WrongType: ",
		},
		{
			name: "a signer that is no PEM",
			bad:  signerWith(func(d map[string][]byte) { d[inventory.ActiveCertKey] = brokenPEM }),
			want: "Secret/web-signer Unparsable: slot active: tls.crt cannot be read",
		},
		{
			name: "a signer that is no CA",
			bad:  pairSecret(t, "web-signer", leaf),
			want: "Secret/web-signer NotCA: slot active: ", wantText: `"CN=leaf"`,
		},
		{
			name: "a next signer with another key",
			bad: signerWith(func(d map[string][]byte) {
				d[inventory.NextCertKey], d[inventory.NextKeyKey] = foreign.CertPEM(), keyPEM(t, ca)
			}),
			want: "Secret/web-signer KeyMismatch: slot next: ", wantText: "remove next-tls.crt",
			check: func(t *testing.T, d *trust.Domain) {
				if !d.Signer.Active.Equal(ca.Certificate) {
					t.Error("the active slot is lost")
				}
			},
		},
		{
			name: "fewer previous keys than certificates",
			bad: signerWith(func(d map[string][]byte) {
				d[inventory.PreviousCertKey] = pki.EncodeCertificates(foreign.Certificate, ca.Certificate)
				d[inventory.PreviousKeyKey] = keyPEM(t, foreign)
			}),
			want: "Secret/web-signer KeyMismatch: slot previous: ", wantText: "2 certificates and previous-tls.key has 1 keys",
		},
		{
			name: "previous keys in another order",
			bad: signerWith(func(d map[string][]byte) {
				d[inventory.PreviousCertKey] = pki.EncodeCertificates(foreign.Certificate, ca.Certificate)
				d[inventory.PreviousKeyKey] = append(keyPEM(t, ca), keyPEM(t, foreign)...)
			}),
			want: "Secret/web-signer KeyMismatch: slot previous: ", wantText: "(pair 1 of 2)",
		},
		{
			name: "a bundle that is no PEM",
			bad:  configMap("web-bundle", map[string]string{inventory.BundleKey: string(brokenPEM)}),
			want: "ConfigMap/web-bundle Unparsable: ca-bundle.crt cannot be read", wantText: "delete the ConfigMap to have it rebuilt",
		},
		{
			name: "a bundle with an anchor that is no CA",
			bad:  bundle("web-bundle", ca.Certificate, leaf.Certificate),
			want: "ConfigMap/web-bundle NotCA: ", wantText: `"CN=leaf"`,
			check: func(t *testing.T, d *trust.Domain) {
				if len(d.Bundle.Anchors) != 2 {
					t.Errorf("%d anchors, want both", len(d.Bundle.Anchors))
				}
			},
		},
		{
			name: "a node without an address",
			bad:  node("n2"),
			want: "Node/n2 NodeWithoutAddress: the node has no InternalIP, so it cannot be probed",
		},
		{
			name: "an aggregate of the wrong type",
			bad:  pairSecret(t, "all-certs", leaf),
			want: "Secret/all-certs WrongType: ",
		},
		{
			name: "a malformed record",
			bad:  malformed("evidence.web.clients.b", "web", configv1alpha1.RecordEvidence),
			want: "RotationRecord/evidence.web.clients.b InvalidRecord: ", wantText: "exactly the field",
		},
		{
			name: "a malformed roster",
			bad:  malformed("roster.web", "web", configv1alpha1.RecordRoster),
			want: "RotationRecord/roster.web InvalidRecord: ", wantText: "without it the members are unknown",
			check: func(t *testing.T, d *trust.Domain) {
				if d.RosterProblem == nil || d.Roster != nil {
					t.Errorf("roster %v, problem %v: want the problem on the domain itself", d.Roster, d.RosterProblem)
				}
			},
		},
		{
			name: "a roster of an unknown kind",
			bad:  malformed("roster.web", "web", "Other"),
			want: "RotationRecord/roster.web InvalidRecord: ", wantText: "without it the members are unknown",
		},
		{
			name: "a record under a foreign name",
			bad: func() *configv1alpha1.RotationRecord {
				r := evidenceOf("web", "clients", "a")
				r.Name = "copy"
				return r
			}(),
			want: "RotationRecord/copy InvalidRecord: ", wantText: "must be named evidence.web.clients.a",
		},
		{
			name: "a configuration that is not valid",
			bad:  configuration("bad", strings.Replace(disjointConfig("third"), "stageDeadline: 30m", "stageDeadline: -1s", 1)),
			want: "RotationConfiguration/bad InvalidConfiguration: ", wantText: "stageDeadline",
		},
		{
			name: "an empty configuration",
			bad:  configuration("bad", ""),
			want: "RotationConfiguration/bad InvalidConfiguration: ", wantText: "spec",
		},
		{
			name: "a second configuration with the same domain",
			bad:  configuration("zz", strings.Replace(disjointConfig("third"), "name: third\n", "name: web\n", 1)),
			want: "RotationConfiguration/zz ConflictingClaim: ", wantText: "trust domain web of RotationConfiguration/config",
		},
		{
			name: "a second configuration with the same Secret",
			bad:  configuration("zz", strings.Replace(disjointConfig("third"), "secretName: third-signer", "secretName: web-client", 1)),
			want: "RotationConfiguration/zz ConflictingClaim: ", wantText: "Secret/web-client of RotationConfiguration/config",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := sources(t, configuration("config", webConfig), configuration("fine", disjointConfig("other")),
				pairSecret(t, "web-signer", ca), pairSecret(t, "web-client", leaf), bundle("web-bundle", ca.Certificate),
				pairSecret(t, "web-serving-n1", leaf), pairSecret(t, "web-serving-n2", leaf),
				adoptedBy("fine", pairSecret(t, "other-serving-n2", leaf)), node("n1", "10.0.0.1"), node("n2", "10.0.0.2"))
			before := inventory.Build(base)
			if got := allProblems(before); got != "" {
				t.Fatalf("problems without bad input:\n%s", got)
			}
			var after *inventory.Namespace
			switch bad := tt.bad.(type) {
			case *corev1.Secret:
				after = inventory.Build(base.WithSecret(bad.Name, bad))
			case *corev1.ConfigMap:
				after = inventory.Build(base.WithConfigMap(bad.Name, bad))
			case *configv1alpha1.RotationConfiguration:
				after = inventory.Build(base.WithConfiguration(bad.Name, bad))
			case *configv1alpha1.RotationRecord:
				after = inventory.Build(base.WithRecord(bad.Name, bad))
			case *corev1.Node:
				base.Nodes[bad.Name] = inventory.ParseNode(bad)
				after = inventory.Build(base)
			}
			problems := allProblems(after)
			for line := range strings.SplitSeq(problems, "\n") {
				if !strings.HasPrefix(line, tt.want) && !strings.HasPrefix(line, "Node/n2 NodeWithoutAddress: ") {
					t.Errorf("problem %q, want %q", line, tt.want)
				}
			}
			if !strings.Contains(problems, tt.want) || !strings.Contains(problems, tt.wantText) {
				t.Errorf("problems:\n%s\nwant %q with %q", problems, tt.want, tt.wantText)
			}
			if strings.Contains(problems, "PRIVATE KEY") || strings.Contains(problems, "AAAA") {
				t.Errorf("a problem quotes Secret data:\n%s", problems)
			}
			if tt.check != nil {
				tt.check(t, after.Domain("web"))
			}
			if len(after.Domains) != 2 {
				t.Fatalf("%d domains, want 2", len(after.Domains))
			}
			if _, isNode := tt.bad.(*corev1.Node); isNode {
				return
			}
			if diff := cmp.Diff(before.Domain("other"), after.Domain("other"), byFingerprint); diff != "" {
				t.Errorf("the other domain is harmed (-without +with):\n%s", diff)
			}
		})
	}
}

func TestEmptyIsNoProblem(t *testing.T) {
	t.Parallel()
	next := authority(t, "next")
	tests := []struct {
		name  string
		given any
	}{
		{"an emptied bundle", bundle("web-bundle")},
		{"a bundle with a comment only", configMap("web-bundle", map[string]string{inventory.BundleKey: "# none\n"})},
		{"a bundle without its key", configMap("web-bundle", nil)},
		{"a signer without an active CA", tlsSecret("web-signer", map[string][]byte{
			inventory.ActiveCertKey: {}, inventory.ActiveKeyKey: {},
			inventory.NextCertKey: next.CertPEM(), inventory.NextKeyKey: keyPEM(t, next),
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := inventory.Build(sources(t, configuration("config", webConfig), tt.given))
			if got := allProblems(n); got != "" {
				t.Errorf("problems:\n%s", got)
			}
			d := n.Domain("web")
			if d.Bundle.Present == d.Signer.Present || d.Bundle.Anchors != nil || d.Signer.Active != nil {
				t.Errorf("signer %+v, bundle %+v", d.Signer, d.Bundle)
			}
		})
	}
}

func TestPreviousSlot(t *testing.T) {
	t.Parallel()
	ca, older, oldest := authority(t, "ca"), authority(t, "older"), authority(t, "oldest")
	signer := pairSecret(t, "web-signer", ca)
	signer.Data[inventory.PreviousCertKey] = pki.EncodeCertificates(older.Certificate, oldest.Certificate)
	signer.Data[inventory.PreviousKeyKey] = append(keyPEM(t, older), keyPEM(t, oldest)...)
	n := inventory.Build(sources(t, configuration("config", webConfig), signer))
	want := []*pki.Certificate{older.Certificate, oldest.Certificate}
	if diff := cmp.Diff(want, n.Domain("web").Signer.Previous, byFingerprint); diff != "" || allProblems(n) != "" {
		t.Errorf("previous (-want +got):\n%s\n%s", diff, allProblems(n))
	}
}

func TestNodeWithoutAddress(t *testing.T) {
	t.Parallel()
	leaf := issue(t, authority(t, "ca"), "kept")
	n := inventory.Build(sources(t, configuration("config", webConfig), pairSecret(t, "web-serving-n2", leaf),
		node("n1", "10.0.0.1"), node("n2"), node("n3")))
	d := n.Domain("web")
	if diff := cmp.Diff([]string{"web-client", "web-serving-n1", "web-serving-n2"}, leafNames(d)); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
	profile := d.Leaves[2].Policy.Profile
	if profile.CommonName != "kept" || !cmp.Equal(profile.DNSNames, []string{"kept.old"}) ||
		!cmp.Equal(profile.IPAddresses, []string{"10.9.9.9"}) || !cmp.Equal(profile.Usages, []pki.Usage{pki.ServerAuth}) {
		t.Errorf("the profile of a kept leaf has not its names: %+v", profile)
	}
	for _, want := range []string{
		"Node/n2 NodeWithoutAddress: the node has no InternalIP, so these leaves keep the addresses that they have: web-serving-n2;",
		"Node/n3 NodeWithoutAddress: the node has no InternalIP, so these leaves are not issued: web-serving-n3;",
	} {
		if !strings.Contains(allProblems(n), want) {
			t.Errorf("problems:\n%s\nwant %q", allProblems(n), want)
		}
	}
	if members := d.Parties[0].Members; len(members) != 3 || members[2].Probes[0].Address != "" || members[2].Holds != nil {
		t.Errorf("members = %+v", members)
	}
	if got := n.Aggregates[0].Leaves; !cmp.Equal(got, []string{"web-serving-n1", "web-serving-n2"}) {
		t.Errorf("aggregated leaves = %v", got)
	}
}

func TestNodeNameMeetsOtherLeaf(t *testing.T) {
	t.Parallel()
	config := strings.ReplaceAll(webConfig, "web-serving-{node}", "web-{node}")
	n := inventory.Build(sources(t, configuration("config", config), node("client", "10.0.0.1"), node("n1", "10.0.0.2")))
	if diff := cmp.Diff([]string{"web-client", "web-n1"}, leafNames(n.Domain("web"))); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
	if got, want := allProblems(n), "Secret/web-client ConflictingClaim: the leaf of node client"; !strings.HasPrefix(got, want) {
		t.Errorf("problems:\n%s\nwant %q", got, want)
	}
}

// TestTwoNodesOfOneLeafName: the node keeps the name whose address is in the leaf.
func TestTwoNodesOfOneLeafName(t *testing.T) {
	t.Parallel()
	cfg, ca := configuration("config", strings.Replace(webConfig, "\naggregate:", rivals, 1)), authority(t, "ca")
	for holder, address := range map[string]string{"x": "10.0.0.1", "metrics-x": "10.0.0.2"} {
		n := inventory.Build(sources(t, cfg, node("x", "10.0.0.1"), node("metrics-x", "10.0.0.2"), pairSecret(t, "peer-metrics-x", issueFor(t, ca, address))))
		got := n.Domain("peers").Leaf("peer-metrics-x").Policy.Profile.IPAddresses
		if !slices.Equal(got, []string{address}) || !strings.Contains(allProblems(n), "Secret/peer-metrics-x ConflictingClaim: ") {
			t.Errorf("%s holds it, and it is for %v; problems:\n%s", holder, got, allProblems(n))
		}
	}
}

func TestOlderConfigurationWins(t *testing.T) {
	t.Parallel()
	older, younger := configuration("zz", webConfig), configuration("aa", webConfig)
	younger.CreationTimestamp = metav1.NewTime(testTime.Add(time.Second))
	n := inventory.Build(sources(t, older, younger))
	if diff := cmp.Diff([]string{"aa", "zz"}, n.Configurations); diff != "" {
		t.Errorf("configurations (-want +got):\n%s", diff)
	}
	if len(n.Domains) != 1 || len(n.Problems) != 1 || n.Problems[0].Object != "RotationConfiguration/aa" {
		t.Errorf("domains %v, problems %v", n.Domains, n.Problems)
	}
}
