// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// BenchmarkBuild builds a namespace with one domain, and a leaf, a party member and a probe for each node.
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

// BenchmarkBuildPods builds a namespace whose verifiers are thousands of pods that have acknowledged and are in
// the roster.
func BenchmarkBuildPods(b *testing.B) {
	const pods = inventory.MaxPods - 1
	config := inventory.ParseConfiguration(configuration("config", podsConfig))
	if config.Error != "" {
		b.Fatal(config.Error)
	}
	domain := config.Loaded.TrustDomains[0].Name
	s := &inventory.Sources{
		Configurations: map[string]*inventory.Configuration{"config": config},
		Records:        map[string]*inventory.Record{}, Pods: map[string]*inventory.Pod{}, Selectors: map[string]bool{podsSelector: true},
	}
	roster := &trust.Roster{Signers: []string{"web-signer"}, Leaves: []string{"web-client"}}
	for i := range pods {
		pod := clientPod(fmt.Sprintf("client-%05d", i))
		s.Pods[pod.Name] = inventory.ParsePod(pod)
		said := trust.Observation{
			Instance: string(pod.UID), Kind: trust.Acknowledgement, ObservedAt: testTime, StartedAt: testTime, Expires: testTime.Add(time.Hour),
			Trusts: []pki.Fingerprint{pki.Fingerprint(strings.Repeat("a", 64))},
		}
		evidence, err := record.OfEvidence(testNamespace, domain, "clients", pod.Name, []trust.Observation{said})
		if err != nil {
			b.Fatal(err)
		}
		s.Records[evidence.Name] = inventory.ParseRecord(evidence)
		roster.Members = append(roster.Members, trust.RosterMember{
			Party: "clients", Member: pod.Name, Instance: string(pod.UID), Pod: true, Kind: trust.Acknowledgement, Started: true,
		})
	}
	recorded, err := record.OfRoster(testNamespace, domain, roster)
	if err != nil {
		b.Fatal(err)
	}
	s.Records[recorded.Name] = inventory.ParseRecord(recorded)
	b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n := inventory.Build(s); len(n.Domains) != 1 || n.Domains[0].Roster == nil || len(n.Problems) > 0 {
				b.Fatalf("%d domains, problems %v", len(n.Domains), n.Problems)
			}
		}
	})
}
