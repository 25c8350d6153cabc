// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// byFingerprint compares certificates by fingerprint, and domains by their exported fields.
var byFingerprint = cmp.Options{
	cmp.Comparer(func(x, y *pki.Certificate) bool { return x.Equal(y) }),
	cmpopts.IgnoreUnexported(trust.Party{}),
}

func leafNames(d *trust.Domain) []string {
	var names []string
	for _, l := range d.Leaves {
		names = append(names, l.Name)
	}
	return names
}

func TestBuildExpandsConfiguration(t *testing.T) {
	t.Parallel()
	ca, next := authority(t, "ca"), authority(t, "next")
	client := issue(t, ca, "client")
	signer := pairSecret(t, "web-signer", ca)
	signer.Data[inventory.NextCertKey], signer.Data[inventory.NextKeyKey] = next.CertPEM(), keyPEM(t, next)
	old, young := report("pod-1", ca.Certificate.Fingerprint), report("pod-2", next.Certificate.Fingerprint)

	clientSecret, anchors := pairSecret(t, "web-client", client), bundle("web-bundle", ca.Certificate, next.Certificate, ca.Certificate)

	n := inventory.Build(sources(t,
		configuration("config", webConfig), signer, clientSecret, anchors,
		node("n2", "fd00:0::2", "10.0.0.2", "not-an-ip"), node("n1", "10.0.0.1"),
		evidenceOf("web", "clients", "b", young, old), evidenceOf("web", "clients", "gone", old),
		configMap("unrelated", map[string]string{"big": "data"}),
	))

	if got := allProblems(n); got != "" {
		t.Errorf("problems:\n%s", got)
	}
	object := func(name string) trust.Object {
		return trust.Object{
			Name: name, Present: true, UID: "uid-" + name, ResourceVersion: "7", Created: testTime,
			Annotations: map[string]string{trust.AnnotationIssuer: "x", trust.AnnotationConfiguration: "config"},
			Labels:      map[string]string{trust.LabelTrustDomain: "web"},
		}
	}
	policy := func(validity time.Duration, p pki.Profile) trust.Policy {
		p.Key, p.Validity, p.Backdate = pki.ECDSAP256, validity, 5*time.Minute
		jitter := int32(5)
		if len(p.Usages) == 0 {
			jitter = 0 // A signer.
		}
		return trust.Policy{Profile: p, RenewAtPercent: 80, JitterPercent: jitter}
	}
	serving := func(node string, addresses ...string) trust.Leaf {
		return trust.Leaf{
			Object: trust.Object{Name: "web-serving-" + node}, Template: "web-serving-{node}",
			Policy: policy(8760*time.Hour, pki.Profile{
				CommonName: addresses[0], DNSNames: []string{"web.svc"}, IPAddresses: addresses,
				Usages: []pki.Usage{pki.ServerAuth},
			}),
		}
	}
	probe := func(address, presents string) *trust.Probe {
		return &trust.Probe{
			Address: address, Presents: presents, ServerName: "web.svc", ClientLeaf: "web-client", Interval: 5 * time.Second, Timeout: 5 * time.Second,
		}
	}
	want := &trust.Domain{
		Namespace: testNamespace, Name: "web", Configuration: "config", StageDeadline: 30 * time.Minute, ReissuePerMinute: 600, Verifiers: pki.Go | pki.OpenSSL,
		Unlisted: &trust.Unlisted{Drain: 10 * time.Minute},
		Signer: trust.Signer{
			Object: object("web-signer"), Active: ca.Certificate, Next: next.Certificate,
			Policy: policy(43800*time.Hour, pki.Profile{}),
		},
		Bundle: trust.Bundle{
			Object: object("web-bundle"), Anchors: []*pki.Certificate{ca.Certificate, next.Certificate}, Repeats: true, ContentHash: contenthash.OfConfigMap(anchors),
		},
		Leaves: []trust.Leaf{
			{
				Object: object("web-client"), Template: "web-client", Certificate: client.Certificate,
				Authorities: []*pki.Certificate{ca.Certificate}, Anchors: []*pki.Certificate{ca.Certificate},
				ContentHash: contenthash.OfSecret(clientSecret),
				Policy: policy(8760*time.Hour, pki.Profile{
					CommonName: "web-client", Organizations: []string{"system:web"}, Usages: []pki.Usage{pki.ClientAuth},
				}),
			},
			serving("n1", "10.0.0.1"), serving("n2", "10.0.0.2", "fd00::2"),
		},
		Parties: []trust.Party{
			{
				Name: "servers", Kind: trust.TLSProbe, Verifies: []string{"web-client"},
				Members: []trust.Member{
					{Name: "n1", Instance: "uid-n1", Holds: []string{"web-serving-n1"},
						Probes: []trust.Probe{*probe("10.0.0.1:8443", "web-serving-n1")}},
					{Name: "n2", Instance: "uid-n2", Holds: []string{"web-serving-n2"},
						Probes: []trust.Probe{*probe("[fd00::2]:8443", "web-serving-n2")}},
				},
			},
			{
				Name: "clients", Kind: trust.Acknowledgement, Lease: time.Hour, Verifies: []string{"web-serving-n1", "web-serving-n2"},
				Reporters: &trust.Reporters{ServiceAccounts: []string{"web-{member}"}, Groups: []string{"web-operators"}},
				Members: []trust.Member{
					{Name: "a", Holds: []string{"web-client"}},
					{Name: "b", Holds: []string{"web-client"}, Observations: []trust.Observation{old, young}},
				},
			},
		},
		Evidence: []trust.EvidenceRecord{
			{Record: "evidence.web.clients.b", UID: "uid-evidence.web.clients.b", ResourceVersion: "7", Party: "clients", Member: "b", Expires: young.Expires},
			{Record: "evidence.web.clients.gone", UID: "uid-evidence.web.clients.gone", ResourceVersion: "7", Party: "clients", Member: "gone", Expires: young.Expires},
		},
	}
	if diff := cmp.Diff(want, n.Domain("web"), byFingerprint); diff != "" {
		t.Errorf("Build() domain (-want +got):\n%s", diff)
	}
	wantAggregates := []*trust.Aggregate{{
		Configuration: "config",
		Secret:        trust.Object{Name: "all-certs"}, ConfigMap: trust.Object{Name: "all-bundles"},
		Leaves:  []string{"web-serving-n1", "web-serving-n2"},
		Bundles: []trust.AggregatedBundle{{Key: "web.crt", Bundle: "web-bundle"}},
	}}
	if diff := cmp.Diff(wantAggregates, n.Aggregates, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Build() aggregates (-want +got):\n%s", diff)
	}
	if n.Domain("other") != nil {
		t.Error("Domain() finds what is not there")
	}
}

func TestBuildWithoutConfiguration(t *testing.T) {
	t.Parallel()
	if n := inventory.Build(sources(t, configMap("a", nil), node("n1"))); n != nil {
		t.Errorf("Build() = %v, want nil", n)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	n := inventory.Build(sources(t, configuration("config", webConfig), node("n1", "10.0.0.1"), opaqueSecret("other", nil),
		evidenceOf("web", "clients", "a", report("pod-1"))))
	tests := []struct {
		kind trust.ObjectKind
		name string
		want inventory.Claim
	}{
		{trust.SecretKind, "web-signer", inventory.Claim{Domain: "web", Kind: inventory.ClaimSigner, Configuration: "config"}},
		{trust.SecretKind, "web-client", inventory.Claim{Domain: "web", Kind: inventory.ClaimLeaf, Configuration: "config"}},
		{trust.SecretKind, "web-serving-n1", inventory.Claim{Domain: "web", Kind: inventory.ClaimLeaf, Configuration: "config"}},
		{trust.SecretKind, "web-serving-n2", inventory.Claim{}},
		{trust.SecretKind, "all-certs", inventory.Claim{Kind: inventory.ClaimAggregate, Configuration: "config"}},
		{trust.SecretKind, "other", inventory.Claim{}},
		{trust.SecretKind, "web-bundle", inventory.Claim{}},
		{trust.ConfigMapKind, "web-bundle", inventory.Claim{Domain: "web", Kind: inventory.ClaimBundle, Configuration: "config"}},
		{trust.ConfigMapKind, "all-bundles", inventory.Claim{Kind: inventory.ClaimAggregate, Configuration: "config"}},
		{inventory.ConfigurationKind, "config", inventory.Claim{}},
		{trust.RecordKind, "evidence.web.clients.a", inventory.Claim{}},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := n.Claim(tt.kind, tt.name)
			if got != tt.want || ok != (tt.want.Kind != "") {
				t.Errorf("Claim() = %v, %t; want %v", got, ok, tt.want)
			}
		})
	}
}

// TestDerivedCommonNameFits: a common name has at most 64 characters (RFC 5280). A leaf whose names are all longer has
// none.
func TestDerivedCommonNameFits(t *testing.T) {
	long := strings.Repeat("a", 60) + ".web.svc"
	for name, want := range map[string]string{"orders.web.svc": "orders.web.svc", long: "", long + ", orders.web.svc": "orders.web.svc"} {
		text := strings.Replace(webConfig, "    commonName: web-client\n    organizations: [system:web]\n", "    dnsNames: ["+name+"]\n", 1)
		d := inventory.Build(sources(t, configuration("config", text))).Domain("web")
		if got := d.Leaf("web-client").Policy.Profile.CommonName; got != want {
			t.Errorf("the leaf for %s has the common name %q, want %q", name, got, want)
		}
	}
}

// TestRepeatedAnchor: an anchor that a bundle or ca.crt has twice counts once, and the repetition is known.
func TestRepeatedAnchor(t *testing.T) {
	ca := authority(t, "ca")
	twice := append(ca.Certificate.PEM(), ca.Certificate.PEM()...)
	bundle := &corev1.ConfigMap{ObjectMeta: objectMeta("web-bundle"), Data: map[string]string{inventory.BundleKey: string(twice)}}
	leaf := pairSecret(t, "web-client", ca)
	leaf.Data[inventory.AuthorityKey] = twice
	d := inventory.Build(sources(t, configuration("config", webConfig), bundle, leaf)).Domain("web")
	if len(d.Bundle.Anchors) != 1 || !d.Bundle.Repeats {
		t.Errorf("the bundle has %d anchors, repeated: %t", len(d.Bundle.Anchors), d.Bundle.Repeats)
	}
	if l := d.Leaf("web-client"); len(l.Anchors) != 1 || !l.AnchorsRepeat {
		t.Errorf("ca.crt has %d anchors, repeated: %t", len(l.Anchors), l.AnchorsRepeat)
	}
}
