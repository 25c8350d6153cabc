// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// memoized is a view that builds the namespace once. The real one also builds only after a source changed.
type memoized struct {
	*view
	namespace *inventory.Namespace
}

func (m *memoized) Namespace(namespace string) *inventory.Namespace {
	if namespace != m.cached.Namespace {
		return nil
	}
	return m.namespace
}

// withLeaves returns a world with n client leaves. Each belongs to a party that acknowledges and verifies the
// server.
func withLeaves(b *testing.B, clients int) *world {
	w := newWorld(b)
	spec, err := load.Spec(&w.config.Spec, demo)
	if err != nil {
		b.Fatal(err)
	}
	domain := &spec.TrustDomains[0]
	leaf, party := domain.Leaves[1], domain.RelyingParties[1]
	for i := range clients {
		leaf.SecretName = fmt.Sprintf("service-client-%d", i)
		leaf.CommonName = leaf.SecretName
		party.Name, party.Presents = fmt.Sprintf("client-%d", i), []string{leaf.SecretName}
		domain.Leaves, domain.RelyingParties = append(domain.Leaves, leaf), append(domain.RelyingParties, party)
		w.secrets[leaf.SecretName] = w.leaf(leaf.SecretName, w.active)
	}
	w.config.Spec = configv1alpha1.RotationConfigurationSpec{TrustDomains: spec.TrustDomains}
	return w
}

// BenchmarkReview measures decoding, decision and encoding of one review over HTTP, without a network.
func BenchmarkReview(b *testing.B) {
	small, medium, large := newWorld(b), withLeaves(b, 197), withLeaves(b, 997)

	unclaimed := request(b, nil, small.leaf("service-server", small.foreign))
	unclaimed.Namespace = "elsewhere"
	for _, tc := range []struct {
		name  string
		world *world
		req   *admissionv1.AdmissionRequest
		want  string
	}{
		{name: "namespace-not-configured", world: small, req: unclaimed, want: `"allowed":true`},
		{name: "nothing-changed", world: small, req: request(b, small.secrets["service-server"], small.secrets["service-server"]), want: `"allowed":true`},
		{name: "leaf-allowed/leaves=3", world: small, req: request(b, small.secrets["service-server"], small.leaf("service-server", small.active)), want: `"allowed":true`},
		{name: "leaf-denied/leaves=3", world: small, req: request(b, small.secrets["service-server"], small.leaf("service-server", small.foreign)), want: `"allowed":false`},
		{name: "leaf-allowed/leaves=200", world: medium, req: request(b, medium.secrets["service-server"], medium.leaf("service-server", medium.active)), want: `"allowed":true`},
		{name: "leaf-allowed/leaves=1000", world: large, req: request(b, large.secrets["service-server"], large.leaf("service-server", large.active)), want: `"allowed":true`},
		{name: "leaf-denied/leaves=1000", world: large, req: request(b, large.secrets["service-server"], large.leaf("service-server", large.foreign)), want: `"allowed":false`},
	} {
		b.Run(tc.name, func(b *testing.B) {
			v := viewOf(tc.world)
			m := &memoized{view: v, namespace: inventory.Build(v.cached)}
			if len(m.namespace.Problems) > 0 {
				b.Fatal(m.namespace.Problems)
			}
			h := newHandler(b, v, namespaceOf(false))
			h.inventory = m
			body := reviewOf(b, tc.req)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if w := post(h, bytes.NewReader(body)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), tc.want) {
					b.Fatalf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
