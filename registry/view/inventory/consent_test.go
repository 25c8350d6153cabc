// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestNamedObjectsOfOthers: of a configured object without consent, the model knows only that it exists.
func TestNamedObjectsOfOthers(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	leaf := issue(t, ca, "web-client")
	aggregated := map[string][]byte{"web-client.crt": leaf.CertPEM(), "web-client.key": keyPEM(t, leaf)}
	labelled := opaqueSecret("all-certs", aggregated)
	labelled.Labels[trust.LabelAggregate] = "true"
	objects := func(change func(any) any) []any {
		out := []any{configuration("config", webConfig), node("n1", "10.0.0.1")}
		for _, o := range []any{
			pairSecret(t, "web-signer", ca), bundle("web-bundle", ca.Certificate), pairSecret(t, "web-client", leaf), labelled.DeepCopy(),
			configMap("all-bundles", map[string]string{"web.crt": string(ca.CertPEM())}, trust.LabelAggregate),
		} {
			out = append(out, change(o))
		}
		return out
	}
	for name, change := range map[string]func(any) any{
		"no consent":                       withoutConsent,
		"consent to another configuration": func(o any) any { return withConsent("other", o) },
	} {
		t.Run(name, func(t *testing.T) {
			n := inventory.Build(sources(t, objects(change)...))
			d, agg := n.Domain("web"), n.Aggregates[0]
			only := func(kind trust.ObjectKind, name string) trust.Object {
				return trust.NotAdopted(kind, &trust.Object{Name: name, UID: "uid-" + name, ResourceVersion: "7", Created: testTime}, testNamespace, "config")
			}
			for got, want := range map[*trust.Object]trust.Object{
				&d.Signer.Object: only(trust.SecretKind, "web-signer"), &d.Bundle.Object: only(trust.ConfigMapKind, "web-bundle"),
				&d.Leaves[0].Object: only(trust.SecretKind, "web-client"), &agg.Secret: only(trust.SecretKind, "all-certs"),
				&agg.ConfigMap: only(trust.ConfigMapKind, "all-bundles"),
			} {
				if diff := cmp.Diff(want, *got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", want.Name, diff)
				}
			}
			var known []*pki.Certificate
			known = append(known, d.Signer.Active, d.Signer.Next, d.Leaves[0].Certificate)
			for _, c := range known {
				if c != nil {
					t.Errorf("the model knows %s", c.Subject)
				}
			}
			if len(d.Signer.Previous)+len(d.Bundle.Anchors)+len(d.Leaves[0].Authorities)+len(agg.Pairs)+len(agg.Anchors)+len(agg.Foreign) > 0 {
				t.Errorf("the model knows content: %+v, %+v", d, agg)
			}
			if actions := trust.Assess(d, testTime).Actions; len(actions) > 0 {
				t.Errorf("actions %+v", actions)
			}
		})
	}
}

// TestKeyOfOthersIsNotLookedAt: a mismatched pair is a fault only in a Secret that consents.
func TestKeyOfOthersIsNotLookedAt(t *testing.T) {
	t.Parallel()
	ca, other := authority(t, "ca"), authority(t, "other")
	mixed := pairSecret(t, "x", ca)
	mixed.Data[inventory.ActiveKeyKey] = keyPEM(t, other)
	mixed.Data[inventory.NextCertKey], mixed.Data[inventory.NextKeyKey] = other.CertPEM(), keyPEM(t, ca)
	if got := inventory.ParseSecret(mixed, pki.NewCache(4)); got.Active.Fault == nil || got.Next.Fault == nil {
		t.Fatalf("the pairs do not match: %+v", got)
	}
	got := inventory.ParseSecret(theirs(mixed), pki.NewCache(4))
	if got.Active.Fault != nil || !got.Next.Empty() || len(got.Active.Certificates) != 1 {
		t.Errorf("without consent: %+v", got)
	}
}

// TestUnnamedSecretOfOthersIsOnlySeen: the leaf keeps its anchor in the bundle. The controller neither writes nor
// collects nor copies it.
func TestUnnamedSecretOfOthersIsOnlySeen(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	foreign := theirs(pairSecret(t, "x", issue(t, ca, "x")))
	all := opaqueSecret("all-certs", map[string][]byte{"x.crt": foreign.Data[inventory.ActiveCertKey], "x.key": foreign.Data[inventory.ActiveKeyKey]})
	all.Labels[trust.LabelAggregate] = "true"
	n := inventory.Build(sources(t, configuration("config", webConfig), pairSecret(t, "web-signer", ca), bundle("web-bundle", ca.Certificate), foreign, all))
	d := n.Domain("web")
	var x *trust.Leaf
	for i := range d.Leaves {
		if d.Leaves[i].Name == "x" {
			x = &d.Leaves[i]
		}
	}
	if x == nil || !x.Unnamed || x.Certificate == nil {
		t.Fatalf("leaves %+v", d.Leaves)
	}
	if len(x.Annotations)+len(x.Labels)+len(x.Authorities) > 0 {
		t.Errorf("more than its certificate is known: %+v", x)
	}
	for _, action := range trust.Assess(d, testTime).Actions {
		if action.Object == "x" {
			t.Errorf("%s of it", action.Kind)
		}
	}
	for _, name := range n.Aggregates[0].Leaves {
		if name == "x" {
			t.Error("its key is collected")
		}
	}
	if a := trust.AssessLeafCopy(d, "x", testTime); len(a.Blockers) != 1 || a.Blockers[0].Reason != trust.ReasonNotAdopted {
		t.Errorf("it may be copied: %+v", a)
	}
}

func withConsent(configuration string, object any) any {
	switch o := object.(type) {
	case *corev1.Secret:
		return adoptedBy(configuration, o)
	case *corev1.ConfigMap:
		return adoptedBy(configuration, o)
	}
	return object
}

func withoutConsent(object any) any {
	switch o := object.(type) {
	case *corev1.Secret:
		return theirs(o)
	case *corev1.ConfigMap:
		return theirs(o)
	}
	return object
}
