// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

const editionsConfig = `
trustDomains:
- name: web
  editions: {identity: operator}
  signer: {secretName: ca}
  bundle: {configMapName: ca-bundle}
  leaves:
  - {secretName: server, commonName: web, usages: [ServerAuth]}
  - {secretName: client, commonName: web, usages: [ClientAuth]}
  relyingParties:
  - {name: all, verifies: {usages: [ServerAuth, ClientAuth]}, presents: [server, client], evidence: {kind: none, reason: it is a test}}
`

// newEdition returns edition number n of a name, made n minutes after testTime.
func newEdition(name string, n int, data map[string][]byte) *corev1.Secret {
	secret := opaqueSecret(fmt.Sprintf("%s-%08x", name, n), data)
	secret.CreationTimestamp = metav1.NewTime(testTime.Add(time.Duration(n) * time.Minute))
	maps.Copy(secret.Labels, map[string]string{
		edition.LabelManagedBy: edition.ManagedBy, edition.LabelManagerIdentity: "operator", edition.LabelName: name,
		edition.LabelGeneration: strconv.Itoa(n),
	})
	immutable := true
	secret.Immutable = &immutable
	if len(data[corev1.TLSCertKey]) > 0 {
		secret.Type = corev1.SecretTypeTLS
	}
	return secret
}

func authorityEdition(t *testing.T, n int, ca *pki.Pair) *corev1.Secret {
	t.Helper()
	return newEdition("ca", n, map[string][]byte{"ca.crt": ca.CertPEM(), "ca.key": keyPEM(t, ca)})
}

func bundleEdition(n int, anchors ...*pki.Certificate) *corev1.Secret {
	secret := newEdition("ca-bundle", n, map[string][]byte{edition.BundleKey: pki.EncodeCertificates(anchors...)})
	secret.Labels[edition.LabelBundleFor] = "ca"
	return secret
}

func leafEdition(t *testing.T, name string, n int, by *pki.Pair) *corev1.Secret {
	t.Helper()
	leaf := issue(t, by, name)
	return newEdition(name, n, map[string][]byte{corev1.TLSCertKey: leaf.CertPEM(), corev1.TLSPrivateKeyKey: keyPEM(t, leaf), "ca.crt": by.CertPEM()})
}

// TestEditions: the slots follow from the editions that exist, and from who has signed the newest ones of the leaves.
func TestEditions(t *testing.T) {
	t.Parallel()
	ca1, ca2, ca3 := authority(t, "ca-00000001"), authority(t, "ca-00000002"), authority(t, "ca-00000003")
	outside := authorityEdition(t, 2, ca2)
	outside.Labels[edition.LabelKeyOutside] = edition.True
	delete(outside.Data, "ca.key")
	broken := authorityEdition(t, 2, ca2)
	broken.Data["ca.key"] = keyPEM(t, ca1)
	ofOthers := authorityEdition(t, 2, ca2)
	ofOthers.Labels[edition.LabelManagerIdentity] = "other"
	before := []any{authorityEdition(t, 1, ca1), bundleEdition(1, ca1.Certificate), leafEdition(t, "server", 1, ca1), leafEdition(t, "client", 1, ca1)}
	prepared := slices.Concat(before, []any{authorityEdition(t, 2, ca2), bundleEdition(2, ca2.Certificate, ca1.Certificate), leafEdition(t, "client", 2, ca2)})
	tests := []struct {
		name    string
		objects []any
		want    string
	}{
		{"nothing", nil, "active - next - previous [] anchors [] leaves []"},
		{"at rest", before, "active 1 next - previous [] anchors [1] leaves [client:1 server:1]"},
		{"a new authority", slices.Concat(before, []any{authorityEdition(t, 2, ca2)}),
			"active 1 next 2 previous [] anchors [1] leaves [client:1 server:1]"},
		{"clients reissued", prepared, "active 1 next 2 previous [] anchors [2 1] leaves [client:2 client-00000001:1 server:1]"},
		{"servers reissued", slices.Concat(prepared, []any{leafEdition(t, "server", 2, ca2)}),
			"active 2 next - previous [1] anchors [2 1] leaves [client:2 client-00000001:1 server:2 server-00000001:1]"},
		{"completed", []any{authorityEdition(t, 2, ca2), bundleEdition(3, ca2.Certificate), leafEdition(t, "server", 2, ca2)},
			"active 2 next - previous [] anchors [2] leaves [server:2]"},
		{"an overtaken rotation", slices.Concat(prepared, []any{authorityEdition(t, 3, ca3)}),
			"active 2 next 3 previous [1] anchors [2 1] leaves [client:2 client-00000001:1 server:1]"},
		{"no leaf yet", []any{authorityEdition(t, 1, ca1), authorityEdition(t, 2, ca2)}, "active 1 next 2 previous [] anchors [] leaves []"},
		{"a key outside", []any{outside}, "active 2 next - previous [] anchors [] leaves []"},
		{"a key of another", []any{authorityEdition(t, 1, ca1), broken},
			"active 1 next 2 previous [] anchors [] leaves [] Secret/ca-00000002 KeyMismatch"},
		{"of another identity", slices.Concat(before, []any{ofOthers}), "active 1 next - previous [] anchors [1] leaves [client:1 server:1]"},
		{"without consent", slices.Concat(before, []any{theirs(authorityEdition(t, 2, ca2))}),
			"active 1 next - previous [] anchors [1] leaves [client:1 server:1] Secret/ca NotAdopted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := inventory.Build(sources(t, slices.Concat([]any{configuration("config", editionsConfig)}, tt.objects)...))
			if got := describeEditions(n.Domain("web")); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if len(n.Problems) > 0 {
				t.Errorf("problems = %v", n.Problems)
			}
		})
	}
}

// describeEditions calls certificates by the last digit of their authority.
func describeEditions(d *trust.Domain) string {
	number := func(c *pki.Certificate) string {
		if c == nil {
			return "-"
		}
		return c.IssuerCommonName[len(c.IssuerCommonName)-1:]
	}
	numbers := func(list []*pki.Certificate) []string {
		out := []string{}
		for _, c := range list {
			out = append(out, number(c))
		}
		return out
	}
	var leaves []string
	for i := range d.Leaves {
		if l := &d.Leaves[i]; l.Present {
			leaves = append(leaves, l.Name+":"+number(l.Certificate))
		}
	}
	out := fmt.Sprintf("active %s next %s previous %s anchors %s leaves [%s]", number(d.Signer.Active), number(d.Signer.Next),
		numbers(d.Signer.Previous), numbers(d.Bundle.Anchors), strings.Join(leaves, " "))
	for _, p := range append(slices.Clone(d.Problems), problemsOf(&d.Signer.Object, &d.Bundle.Object)...) {
		out += fmt.Sprintf(" %s %s", p.Object, p.Reason)
	}
	return out
}

func problemsOf(objects ...*trust.Object) []trust.Problem {
	var out []trust.Problem
	for _, o := range objects {
		if o.Problem != nil {
			out = append(out, *o.Problem)
		}
	}
	return out
}

// TestEditionsAsObjects: the model waits from when an edition was made, and does not take it for one that can never be
// written.
func TestEditionsAsObjects(t *testing.T) {
	t.Parallel()
	ca1, ca2 := authority(t, "ca-00000001"), authority(t, "ca-00000002")
	server := leafEdition(t, "server", 4, ca1)
	server.Labels[edition.LabelRenewAfterValidityPercentage] = "70"
	d := inventory.Build(sources(t, configuration("config", editionsConfig), authorityEdition(t, 1, ca1), authorityEdition(t, 2, ca2),
		bundleEdition(1, ca1.Certificate), bundleEdition(3, ca2.Certificate, ca1.Certificate), server,
	)).Domain("web")
	published := map[string]string{}
	for entry := range strings.FieldsSeq(d.Bundle.Annotations[trust.AnnotationPublished]) {
		fingerprint, at, _ := strings.Cut(entry, "=")
		published[fingerprint] = at
	}
	want := map[string]string{string(ca1.Certificate.Fingerprint): "2026-05-01T12:01:00Z", string(ca2.Certificate.Fingerprint): "2026-05-01T12:03:00Z"}
	if diff := cmp.Diff(want, published); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	l := d.Leaf("server")
	if at := l.Annotations[trust.AnnotationIssuedAt]; at != "2026-05-01T12:04:00Z" {
		t.Errorf("issued at %s", at)
	}
	if l.Policy.RenewAtPercent != 70 || l.Immutable || len(l.Anchors) > 0 || l.UID != "uid-server-00000004" {
		t.Errorf("leaf = %+v", l)
	}
	if d.Bundle.Ref() != "Secret/ca-bundle" || d.WrittenBy != "operator" || d.Signer.UID != "uid-ca-00000002" {
		t.Errorf("domain = %+v", d)
	}
}

// TestEditionsAreClaimed: a Secret belongs to the domain by its labels before it exists, and building only the domain
// after an edit gives the same as building everything.
func TestEditionsAreClaimed(t *testing.T) {
	t.Parallel()
	ca1, ca2 := authority(t, "ca-00000001"), authority(t, "ca-00000002")
	s := sources(t, configuration("config", editionsConfig), authorityEdition(t, 1, ca1), bundleEdition(1, ca1.Certificate),
		leafEdition(t, "server", 1, ca1), leafEdition(t, "client", 1, ca1))
	n := inventory.Build(s)
	claims := map[string]inventory.ClaimKind{}
	for _, secret := range []*corev1.Secret{
		authorityEdition(t, 1, ca1), authorityEdition(t, 2, ca2), bundleEdition(1, ca1.Certificate), bundleEdition(2, ca2.Certificate, ca1.Certificate),
		leafEdition(t, "server", 1, ca1), leafEdition(t, "server", 2, ca2), leafEdition(t, "server", 3, ca1), leafEdition(t, "unknown", 1, ca1),
	} {
		claim, claimed := n.ClaimEdition(trust.SecretKind, secret.Name, &secret.ObjectMeta)
		if !claimed {
			continue
		}
		claims[secret.Name] = claim.Kind
		compareEdited(t, "with "+secret.Name, n, s.WithSecret(secret.Name, secret), claim)
		compareEdited(t, "without "+secret.Name, n, s.WithSecret(secret.Name, nil), claim)
	}
	want := map[string]inventory.ClaimKind{
		"ca-00000001": inventory.ClaimSigner, "ca-00000002": inventory.ClaimSigner,
		"ca-bundle-00000001": inventory.ClaimBundle, "ca-bundle-00000002": inventory.ClaimBundle,
		"server-00000001": inventory.ClaimLeaf, "server-00000002": inventory.ClaimLeaf, "server-00000003": inventory.ClaimLeaf,
	}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	foreign := authorityEdition(t, 2, ca2)
	foreign.Labels[edition.LabelManagerIdentity] = "other"
	if claim, claimed := n.ClaimEdition(trust.SecretKind, foreign.Name, &foreign.ObjectMeta); claimed {
		t.Errorf("an edition of another identity is claimed: %+v", claim)
	}
}

// TestEditionsAreReadWhereTheyAreDemanded: the content of editions is read of the identities that a configuration names,
// and the namespace is not known before. A live read gives the same.
func TestEditionsAreReadWhereTheyAreDemanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, other := authority(t, "ca-00000001"), authority(t, "ca-00000001")
		ofOthers := authorityEdition(t, 2, other)
		ofOthers.Labels[edition.LabelManagerIdentity] = "other"
		c := newCluster(t, configuration("config", webConfig), authorityEdition(t, 1, ca), bundleEdition(1, ca.Certificate), ofOthers)
		c.run(t)
		if s := c.Sources(testNamespace); s.Others["ca-00000001"] == nil || s.Others["ca-00000001"].Edition != nil {
			t.Fatalf("without a domain of editions: %+v", s.Others["ca-00000001"])
		}
		withheld := c.befalls(apifake.Unavailable, func(r *apifake.Request) bool { return r.Verb == "list" && r.Resource.Resource == "secrets" })
		c.put(t, configuration("config", editionsConfig))
		synctest.Wait()
		if c.Namespace(testNamespace) != nil {
			t.Error("the namespace is known before its editions")
		}
		withheld()
		if err := c.Await(t.Context(), testNamespace); err != nil {
			t.Fatal(err)
		}
		live, err := c.Live(t.Context(), testNamespace)
		if err != nil {
			t.Fatal(err)
		}
		for from, n := range map[string]*inventory.Namespace{"cache": c.Namespace(testNamespace), "live": inventory.Build(live)} {
			if got, want := describeEditions(n.Domain("web")), "active 1 next - previous [] anchors [1] leaves []"; got != want {
				t.Errorf("%s: %s, want %s", from, got, want)
			}
		}
		if s := c.Sources(testNamespace); s.Others["ca-00000002"].Edition != nil || len(s.Others["ca-00000002"].Authority.Certificates) > 0 {
			t.Errorf("the content of another identity was read: %+v", s.Others["ca-00000002"])
		}
		c.put(t, authorityEdition(t, 2, other))
		synctest.Wait()
		if d := c.Namespace(testNamespace).Domain("web"); d.Signer.Next == nil {
			t.Errorf("a new edition is not seen: %s", describeEditions(d))
		}
	})
}
