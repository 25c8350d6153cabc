// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestDomainIsStable: the controller has nothing to do in the fixtures of the benchmark. Otherwise the benchmark
// would measure their repair.
func TestDomainIsStable(t *testing.T) {
	d := newDomain("bench-0000", pki.ECDSAP256, 3)
	if err := d.makeAuthority(); err != nil {
		t.Fatal(err)
	}
	certs := pki.NewCache(16)
	sources := &inventory.Sources{Namespace: d.namespace, Secrets: map[string]*inventory.Secret{}, ConfigMaps: map[string]*inventory.ConfigMap{}}
	keep := func(secret *corev1.Secret, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		secret.UID, secret.ResourceVersion = "uid", "1"
		sources.Secrets[secret.Name] = inventory.ParseSecret(secret, certs)
	}
	keep(d.signer())
	for _, leaf := range d.leaves {
		keep(d.issue(leaf))
	}
	roster, err := d.roster()
	if err != nil {
		t.Fatal(err)
	}
	roster.UID, roster.ResourceVersion = "uid", "1"
	configuration := d.configuration()
	configuration.UID, configuration.ResourceVersion = "uid", "1"
	sources = sources.WithConfigMap(bundleName, d.bundle()).WithConfiguration(configName, configuration).WithRecord(roster.Name, roster)
	namespace := inventory.Build(sources)
	if len(namespace.Problems) > 0 || len(namespace.Domains) != 1 {
		t.Fatalf("problems %v and %d domains, want none and 1", namespace.Problems, len(namespace.Domains))
	}
	got := trust.Assess(namespace.Domains[0], time.Now())
	if got.Stage != trust.Stable || len(got.Actions) > 0 || len(got.Problems) > 0 {
		t.Errorf("stage %s, actions %v, problems %v; want Stable and nothing to do", got.Stage, got.Actions, got.Problems)
	}
	if len(got.Leaves) != len(d.leaves) {
		t.Errorf("%d leaves, want %d", len(got.Leaves), len(d.leaves))
	}
}
