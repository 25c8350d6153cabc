// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// BenchmarkBuild builds a namespace with one domain and a leaf, a party member and a probe for each node.
func BenchmarkBuild(b *testing.B) {
	for _, nodes := range []int{10, 1000, 4000} {
		b.Run(fmt.Sprintf("leaves=%d", nodes), func(b *testing.B) {
			s := &inventory.Sources{
				Configurations: map[string]*inventory.Configuration{
					"config": inventory.ParseConfiguration(configuration("config", webConfig)),
				},
				Secrets: map[string]*inventory.Secret{},
				Nodes:   map[string]*inventory.Node{},
			}
			ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: 1 << 40}, testTime)
			if err != nil {
				b.Fatal(err)
			}
			key, err := ca.KeyPEM()
			if err != nil {
				b.Fatal(err)
			}
			data := map[string][]byte{inventory.ActiveCertKey: ca.CertPEM(), inventory.ActiveKeyKey: key}
			certs := pki.NewCache(10)
			for i := range nodes {
				name := fmt.Sprintf("n%d", i)
				s.Nodes[name] = inventory.ParseNode(node(name, fmt.Sprintf("10.%d.%d.1", i/256, i%256)))
				s.Secrets["web-serving-"+name] = inventory.ParseSecret(tlsSecret("web-serving-"+name, data), certs)
			}
			secret := &corev1.Secret{ObjectMeta: objectMeta("web-client"), Type: corev1.SecretTypeTLS, Data: data}
			b.ReportAllocs()
			for b.Loop() {
				if n := inventory.Build(s.WithSecret(secret.Name, secret)); len(n.Domains[0].Leaves) != nodes+1 {
					b.Fatal("leaves are missing")
				}
			}
		})
	}
}
