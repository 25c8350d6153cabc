// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func duration(d time.Duration) *metav1.Duration {
	return &metav1.Duration{Duration: d}
}

// validConfig has two trust domains, every kind of evidence, node leaves and an aggregate.
func validConfig() *RotationConfigurationSpec {
	allNodes := &metav1.LabelSelector{}
	return &RotationConfigurationSpec{
		TrustDomains: []TrustDomain{{
			Name:   "web",
			Signer: Signer{SecretName: "web-signer"},
			Bundle: Bundle{ConfigMapName: "web-bundle"},
			Leaves: []Leaf{
				{SecretName: "web-server", DNSNames: []string{"web.ns.svc", "*.web.ns.svc"}, IPAddresses: []string{"10.0.0.1", "::1"}, Usages: []Usage{ServerAuth}},
				{SecretName: "web-client", CommonName: "client", Organizations: []string{"group"}, Usages: []Usage{ClientAuth}},
			},
			RelyingParties: []RelyingParty{
				{
					Name:     "server",
					Verifies: LeafSelection{Usages: []Usage{ClientAuth}},
					Presents: []string{"web-server"},
					Members:  []string{"server-0", "server-1"},
					Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{
						Endpoints:  []ProbeEndpoint{{Member: "server-0", Address: "10.0.0.1:8443"}, {Member: "server-1", Address: "[::1]:8443"}},
						ServerName: "web.ns.svc",
						ClientLeaf: "web-client",
					}},
				},
				{
					Name:     "client",
					Verifies: LeafSelection{Leaves: []string{"web-server"}},
					Presents: []string{"web-client"},
					Evidence: Evidence{Kind: EvidenceRenewed, Renewed: &RenewedEvidence{MinimumDelay: *duration(time.Minute)}},
				},
			},
		}, {
			Name:   "nodes",
			Signer: Signer{SecretName: "nodes-signer"},
			Bundle: Bundle{ConfigMapName: "nodes-bundle"},
			Leaves: []Leaf{
				{SecretName: "node-{node}", ForEachNode: allNodes, NodeAddresses: true, Usages: []Usage{ServerAuth, ClientAuth}},
			},
			RelyingParties: []RelyingParty{
				{
					Name: "agents", Presents: []string{"node-{node}"}, ForEachNode: allNodes,
					Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{Endpoints: []ProbeEndpoint{{Address: "{node}:2379"}}}},
				},
				{Name: "legacy", Evidence: Evidence{Kind: EvidenceGracePeriod, GracePeriod: duration(time.Hour)}},
			},
		}},
		Aggregate: &Aggregate{
			SecretName:    "all-certs",
			Leaves:        []string{"node-{node}", "web-server"},
			ConfigMapName: "all-bundles",
			Bundles:       []AggregatedBundle{{Key: "web.crt", ConfigMapName: "web-bundle"}, {Key: "nodes.crt", ConfigMapName: "nodes-bundle"}},
		},
	}
}

func TestValidateAccepts(t *testing.T) {
	cfg := validConfig()
	for name, spec := range map[string]*RotationConfigurationSpec{
		"as written": cfg, "with a rollout": rolloutConfig(), "expanded": Expand(cfg, "ns"), "expanded with a rollout": Expand(rolloutConfig(), "ns"),
	} {
		if errs := refusals(t, spec, "ns"); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs.ToAggregate())
		}
	}
	if diff := cmp.Diff(validConfig(), cfg); diff != "" {
		t.Errorf("Validate changed the configuration (-want +got):\n%s", diff)
	}
}

// summary returns type and path of every error, in order.
func summary(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Field)
	}
	return out
}

type validateCase struct {
	name   string
	mutate func(*RotationConfigurationSpec)
	want   []string
	// detail is part of the message of the first error.
	detail string
}

func runValidateCases(t *testing.T, cases []validateCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			cfg := validConfig()
			tc.mutate(cfg)
			errs := refusals(t, cfg, "ns")
			if diff := cmp.Diff(tc.want, summary(errs)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
			if len(errs) > 0 && !strings.Contains(errs[0].Error(), tc.detail) {
				t.Errorf("message %q does not contain %q", errs[0].Error(), tc.detail)
			}
		})
	}
}

func TestValidateDomains(t *testing.T) {
	runValidateCases(t, []validateCase{
		{
			name:   "domain without a name",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].Name = "" },
			want:   []string{"FieldValueInvalid spec.trustDomains[0].name"},
		},
		{
			name:   "domain name is no subdomain",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].Name = "Web_1" },
			want:   []string{"FieldValueInvalid spec.trustDomains[0].name"},
		},
		{
			name:   "signer without a name",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].Signer.SecretName = "" },
			want:   []string{"FieldValueInvalid spec.trustDomains[0].signer.secretName"},
		},
		{
			name:   "signer with a placeholder",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].Signer.SecretName = "signer-{node}" },
			want:   []string{"FieldValueInvalid spec.trustDomains[0].signer.secretName"},
		},
		{
			name:   "bundle name is no subdomain",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[1].Bundle.ConfigMapName = "a/b" },
			want: []string{
				"FieldValueInvalid spec.trustDomains[1].bundle.configMapName",
				"FieldValueNotFound spec.aggregate.bundles[1].configMapName",
			},
		},
		{
			name:   "bundle that kube-controller-manager publishes",
			mutate: func(c *RotationConfigurationSpec) { setBundle(c, "kube-root-ca.crt") },
			want:   []string{"FieldValueForbidden spec.trustDomains[1].bundle.configMapName"},
			detail: "kube-controller-manager",
		},
		{
			name:   "bundle that OpenShift publishes",
			mutate: func(c *RotationConfigurationSpec) { setBundle(c, "openshift-service-ca.crt") },
			want:   []string{"FieldValueForbidden spec.trustDomains[1].bundle.configMapName"},
			detail: "OpenShift",
		},
		{
			name: "unlisted leaves",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].UnlistedLeaves = &UnlistedLeaves{Drain: *duration(time.Second)}
			},
		},
	})
}

func setBundle(c *RotationConfigurationSpec, name string) {
	c.TrustDomains[1].Bundle.ConfigMapName = name
	c.Aggregate.Bundles[1].ConfigMapName = name
}

func TestValidateClaims(t *testing.T) {
	runValidateCases(t, []validateCase{
		{
			name:   "two signers",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[1].Signer.SecretName = "web-signer" },
			want:   []string{"FieldValueInvalid spec.trustDomains[1].signer.secretName"},
			detail: "already claimed by spec.trustDomains[0].signer.secretName",
		},
		{
			name:   "two bundles",
			mutate: func(c *RotationConfigurationSpec) { setBundle(c, "web-bundle") },
			want:   []string{"FieldValueInvalid spec.trustDomains[1].bundle.configMapName"},
			detail: "already claimed by spec.trustDomains[0].bundle.configMapName",
		},
		{
			name: "leaf and signer of another domain",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].Signer.SecretName = "web-client"
			},
			want:   []string{"FieldValueInvalid spec.trustDomains[1].signer.secretName"},
			detail: "already claimed by spec.trustDomains[0].leaves[1].secretName",
		},
		{
			name: "two leaves",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].Leaves = append(c.TrustDomains[0].Leaves, c.TrustDomains[0].Leaves[0])
			},
			want:   []string{"FieldValueDuplicate spec.trustDomains[0].leaves[2]"},
			detail: "web-server",
		},
		{
			name: "two leaves per node",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].Leaves = append(c.TrustDomains[1].Leaves, c.TrustDomains[1].Leaves[0])
			},
			want: []string{"FieldValueDuplicate spec.trustDomains[1].leaves[1]"},
		},
		{
			name:   "aggregate and leaf",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.SecretName = "web-server" },
			want:   []string{"FieldValueInvalid spec.aggregate.secretName"},
		},
		{
			name:   "aggregate and bundle",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.ConfigMapName = "web-bundle" },
			want:   []string{"FieldValueInvalid spec.aggregate.configMapName"},
		},
		{
			name:   "a Secret and a ConfigMap may share a name",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].Signer.SecretName = "web-bundle" },
		},
	})
}

func TestValidateAggregate(t *testing.T) {
	runValidateCases(t, []validateCase{
		{
			name:   "no leaves and no bundles",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Leaves, c.Aggregate.Bundles = nil, nil },
			want:   []string{"FieldValueTypeInvalid spec.aggregate.bundles", "FieldValueTypeInvalid spec.aggregate.leaves"},
		},
		{
			name:   "unknown leaf",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Leaves[0] = "node-1" },
			want:   []string{"FieldValueNotFound spec.aggregate.leaves[0]"},
		},
		{
			name:   "duplicate leaf",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Leaves[1] = c.Aggregate.Leaves[0] },
			want:   []string{"FieldValueDuplicate spec.aggregate.leaves[1]"},
		},
		{
			name:   "bundle without a key",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Bundles[0].Key = "" },
			want:   []string{"FieldValueInvalid spec.aggregate.bundles[0].key"},
		},
		{
			name:   "bundle with a bad key",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Bundles[0].Key = "a/b" },
			want:   []string{"FieldValueInvalid spec.aggregate.bundles[0].key"},
		},
		{
			name:   "two bundles under one key",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Bundles[1].Key = "web.crt" },
			want:   []string{"FieldValueDuplicate spec.aggregate.bundles[1]"},
		},
		{
			name:   "unknown bundle",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Bundles[1].ConfigMapName = "other" },
			want:   []string{"FieldValueNotFound spec.aggregate.bundles[1].configMapName"},
		},
		{
			name:   "bundle without a ConfigMap",
			mutate: func(c *RotationConfigurationSpec) { c.Aggregate.Bundles[1].ConfigMapName = "" },
			want:   []string{"FieldValueInvalid spec.aggregate.bundles[1].configMapName"},
		},
	})
}
