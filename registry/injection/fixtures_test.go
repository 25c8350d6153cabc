// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T, name string) *pki.Pair {
	t.Helper()
	pair, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 24 * time.Hour}, start)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}

// domain returns one without a rotation in flight: one CA has signed the server's leaf, and the bundle agrees to
// two targets.
func domain(t *testing.T, ca *pki.Pair, anchors ...*pki.Certificate) *trust.Domain {
	t.Helper()
	leaf, err := ca.Issue(pki.Profile{CommonName: "server", Key: pki.ECDSAP256, Validity: time.Hour, DNSNames: []string{"s"}, Usages: []pki.Usage{pki.ServerAuth}}, start)
	if err != nil {
		t.Fatal(err)
	}
	consent := map[string]string{trust.AnnotationConfiguration: "web"}
	present := func(name string) trust.Object { return trust.Object{Name: name, Present: true, Annotations: consent} }
	return &trust.Domain{
		Namespace: "demo", Name: "webhook", Configuration: "web",
		Signer: trust.Signer{Object: present("signer"), Active: ca.Certificate},
		Bundle: trust.Bundle{Object: present("bundle"), Anchors: anchors, InjectInto: []trust.InjectionTarget{
			{Kind: "ValidatingWebhookConfiguration", Name: "guard"}, {Kind: "APIService", Name: "v1.demo"},
		}},
		Leaves: []trust.Leaf{{Object: present("server"), Certificate: leaf.Certificate}},
		Parties: []trust.Party{{
			Name: "server", Kind: trust.None, VerifiesNothing: true, Members: []trust.Member{{Name: "server", Holds: []string{"server"}}},
		}, {Name: "kube-apiserver", Kind: trust.GracePeriod, Verifies: []string{"server"}, Members: []trust.Member{{Name: "kube-apiserver"}}}},
	}
}
