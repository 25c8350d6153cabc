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

	"certrotation.dev/registry/view/inventory"
)

// memoized is a view that builds the namespace once, as the real one does until a source changes.
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

// BenchmarkReview measures one review over HTTP but without a network: decoding, the decision, encoding.
func BenchmarkReview(b *testing.B) {
	small := newWorld(b)
	large := newWorld(b)
	clients := make([]string, 1000)
	for i := range clients {
		clients[i] = fmt.Sprintf("c%d", i)
		large.secrets["service-client-"+clients[i]] = large.leaf("service-client-"+clients[i], large.active)
	}
	large.config = configuration(clients...)

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
		{name: "leaf-allowed/leaves=1001", world: large, req: request(b, large.secrets["service-server"], large.leaf("service-server", large.active)), want: `"allowed":true`},
	} {
		b.Run(tc.name, func(b *testing.B) {
			v := viewOf(tc.world)
			m := &memoized{view: v, namespace: inventory.Build(v.cached)}
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
