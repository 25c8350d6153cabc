// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"certrotation.dev/apis/config/definition"
)

// refusals returns what is wrong with a spec, as package load asks it: errors of the definition or, without such, of
// Validate.
func refusals(t *testing.T, spec *RotationConfigurationSpec, namespace string) field.ErrorList {
	t.Helper()
	d, err := definition.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(&RotationConfiguration{Spec: *spec})
	if err != nil {
		t.Fatal(err)
	}
	errs, err := d.Validate(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(errs) > 0 {
		return errs
	}
	return Validate(spec, namespace)
}

// expanded returns a valid spec, expanded.
func expanded(t *testing.T, spec *RotationConfigurationSpec, namespace string) *RotationConfigurationSpec {
	t.Helper()
	if errs := refusals(t, spec, namespace); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return Expand(spec, namespace)
}

// definitionCase is an error that the definition names, maybe among others.
type definitionCase struct {
	name   string
	mutate func(*RotationConfigurationSpec)
	path   string
	detail string
}

func runDefinitionCases(t *testing.T, cases []definitionCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			spec := rolloutConfig()
			tc.mutate(spec)
			errs := refusals(t, spec, "ns")
			if !slices.ContainsFunc(errs, func(err *field.Error) bool {
				return err.Field == tc.path && strings.Contains(err.Error(), tc.detail)
			}) {
				t.Errorf("want an error of %s about %q, got %v", tc.path, tc.detail, errs.ToAggregate())
			}
		})
	}
}

// TestDefinitionRefuses: by the schema and the rules of the CustomResourceDefinition.
func TestDefinitionRefuses(t *testing.T) {
	const domain = "spec.trustDomains[0]"
	const evidence = domain + ".relyingParties[0].evidence"
	const store = domain + ".bundle.additionalFormats.pkcs12.key"
	const keystore = domain + ".leaves[0].keystores.pkcs12"
	onKeystores := func(pkcs12, jks, trusted string) func(*RotationConfigurationSpec) {
		return onLeaf(func(l *Leaf) {
			ref := PasswordSecretRef{Name: "password", Key: "p"}
			l.Keystores = &Keystores{PKCS12: &Keystore{Key: pkcs12, PasswordSecretRef: ref}}
			if jks != "" {
				l.Keystores.JKS = &Keystore{Key: jks, PasswordSecretRef: ref}
			}
			if trusted != "" {
				l.AdditionalFormats = &AdditionalFormats{JKS: &TrustStore{Key: trusted}}
			}
		})
	}
	onStores := func(pkcs12, jks string) func(*RotationConfigurationSpec) {
		return func(c *RotationConfigurationSpec) {
			c.TrustDomains[0].Bundle.AdditionalFormats = &AdditionalFormats{PKCS12: &TrustStore{Key: pkcs12}, JKS: &TrustStore{Key: jks}}
		}
	}
	runDefinitionCases(t, []definitionCase{
		{name: "nothing", mutate: func(c *RotationConfigurationSpec) { *c = RotationConfigurationSpec{} }, path: "spec", detail: "a trust domain or a preset"},
		{
			name: "parameters of another preset",
			mutate: func(c *RotationConfigurationSpec) {
				*c = RotationConfigurationSpec{Preset: &Preset{Name: PresetMTLSService, OpenShiftEtcd: &OpenShiftEtcdPreset{}}}
			},
			path: "spec.preset", detail: "mtlsService",
		},
		{
			name:   "unknown preset",
			mutate: func(c *RotationConfigurationSpec) { c.Preset = &Preset{Name: "kafka"} },
			path:   "spec.preset.name", detail: "kafka",
		},
		{
			name:   "nobody",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].RelyingParties = nil },
			path:   domain, detail: "without one nothing could be proven",
		},
		{
			name:   "two domains of one name",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[1].Name = "web" },
			path:   "spec.trustDomains[1]", detail: "Duplicate",
		},
		{
			name:   "a leaf for each node without a place for its name",
			mutate: onNodeLeaf(func(l *Leaf) { l.SecretName = "node" }),
			path:   "spec.trustDomains[1].leaves[0]", detail: "{node}",
		},
		{
			name:   "a place for the name of no node",
			mutate: onLeaf(func(l *Leaf) { l.SecretName = "web-{node}" }),
			path:   domain + ".leaves[0]", detail: "{node}",
		},
		{name: "addresses of no node", mutate: onLeaf(func(l *Leaf) { l.NodeAddresses = true }), path: domain + ".leaves[0]", detail: "nodeAddresses"},
		{name: "no usages", mutate: onLeaf(func(l *Leaf) { l.Usages = nil }), path: domain + ".leaves[0].usages", detail: "array"},
		{name: "unknown usage", mutate: onLeaf(func(l *Leaf) { l.Usages[0] = "Any" }), path: domain + ".leaves[0].usages[0]", detail: "ServerAuth"},
		{name: "a URI without a scheme", mutate: onLeaf(func(l *Leaf) { l.URIs = []string{"example.org/web"} }), path: domain + ".leaves[0].uris[0]", detail: "match"},
		{name: "an e-mail address without @", mutate: onLeaf(func(l *Leaf) { l.EmailAddresses = []string{"web"} }), path: domain + ".leaves[0].emailAddresses[0]", detail: "match"},
		{name: "a subject field of a common name", mutate: onLeaf(func(l *Leaf) { l.SubjectFields = []string{"CN=web"} }), path: domain + ".leaves[0].subjectFields[0]", detail: "match"},
		{
			name: "the key of the bundle, twice",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[0].Bundle.AdditionalKeys = []string{"ca-bundle.crt"}
			},
			path: domain + ".bundle.additionalKeys[0]", detail: "other than ca-bundle.crt",
		},
		{
			name: "a key of PEM and of a trust store",
			mutate: func(c *RotationConfigurationSpec) {
				b := &c.TrustDomains[0].Bundle
				b.AdditionalKeys, b.AdditionalFormats = []string{"trust"}, &AdditionalFormats{JKS: &TrustStore{Key: "trust"}}
			},
			path: domain + ".bundle", detail: "PEM or a trust store",
		},
		{name: "unknown key", mutate: onPolicy(func(p *IssuancePolicy) { p.Key = "DSA" }), path: domain + ".signer.policy.key", detail: "ECDSA-P256"},
		{name: "no validity", mutate: onPolicy(func(p *IssuancePolicy) { p.Validity = duration(0) }), path: domain + ".signer.policy.validity", detail: "between 1m and 876000h"},
		{name: "renewal after the end", mutate: onPolicy(func(p *IssuancePolicy) { p.RenewAtPercent = 100 }), path: domain + ".signer.policy.renewAtPercent", detail: "99"},
		{name: "a long backdate", mutate: onPolicy(func(p *IssuancePolicy) { p.Backdate = duration(25 * time.Hour) }), path: domain + ".signer.policy.backdate", detail: "24h"},
		{
			name:   "reporters that are nobody",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{} }),
			path:   domain + ".relyingParties[0].reporters", detail: "name a user",
		},
		{
			name:   "a wildcard for a user",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Users: []string{"system:node:*"}} }),
			path:   domain + ".relyingParties[0].reporters.users[0]", detail: "system:node:*",
		},
		{
			name:   "a member twice in a name",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Users: []string{"{member}-{member}"}} }),
			path:   domain + ".relyingParties[0].reporters.users[0]", detail: "{member}-{member}",
		},
		{
			name:   "a group of each member",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Groups: []string{"of-{member}"}} }),
			path:   domain + ".relyingParties[0].reporters.groups[0]", detail: "of-{member}",
		},
		{
			name:   "a service account of another namespace",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{ServiceAccounts: []string{"other:{member}"}} }),
			path:   domain + ".relyingParties[0].reporters.serviceAccounts[0]", detail: "other:{member}",
		},
		{
			name:   "members and nodes",
			mutate: onNodeParty(func(p *RelyingParty) { p.Members = []string{"a"} }),
			path:   "spec.trustDomains[1].relyingParties[0]", detail: "only one of these",
		},
		{
			name:   "nothing and something",
			mutate: onParty(func(p *RelyingParty) { p.Verifies.Nothing = true }),
			path:   domain + ".relyingParties[0].verifies", detail: "excludes",
		},
		{
			name:   "a party that does nothing",
			mutate: onParty(func(p *RelyingParty) { p.Verifies, p.Presents = LeafSelection{Nothing: true}, nil }),
			path:   domain + ".relyingParties[0]", detail: "or both",
		},
		{name: "unknown evidence", mutate: onParty(func(p *RelyingParty) { p.Evidence.Kind = "hope" }), path: evidence + ".kind", detail: "tlsProbe"},
		{name: "a probe without parameters", mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe = nil }), path: evidence, detail: "tlsProbe"},
		{
			name:   "parameters of a probe with another kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.Kind = EvidenceAcknowledgement }),
			path:   evidence, detail: "tlsProbe",
		},
		{name: "a probe of nowhere", mutate: onProbe(func(p *TLSProbe) { p.Endpoints = nil }), path: domain + ".relyingParties[0]", detail: "a tlsProbe needs endpoints"},
		{
			name:   "an endpoint without a port",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints[0].Address = "a" }),
			path:   evidence + ".tlsProbe.endpoints[0].address", detail: "match",
		},
		{name: "unknown proof", mutate: onProbe(func(p *TLSProbe) { p.Proof = "Hope" }), path: evidence + ".tlsProbe.proof", detail: "Handshake"},
		{name: "a grace period without one", mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceGracePeriod} }), path: evidence, detail: "gracePeriod"},
		{
			name:   "a grace period of nothing",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceGracePeriod, GracePeriod: duration(0)} }),
			path:   evidence + ".gracePeriod", detail: "between 1s and 8760h",
		},
		{name: "renewed without a delay", mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceRenewed} }), path: evidence, detail: "after which delay"},
		{
			name: "renewed without a leaf to look at",
			mutate: onParty(func(p *RelyingParty) {
				p.Presents, p.Evidence = nil, Evidence{Kind: EvidenceRenewed, Renewed: &RenewedEvidence{MinimumDelay: *duration(time.Second)}}
			}),
			path: domain + ".relyingParties[0]", detail: "leaves that the party presents",
		},
		{
			name: "a short lease",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceAcknowledgement, Lease: duration(time.Second)}
			}),
			path: evidence + ".lease", detail: "between 1m and 720h",
		},
		{
			name: "a lease of another kind",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceNone, Reason: "x", Lease: duration(time.Hour)}
			}),
			path: evidence, detail: "acknowledgement",
		},
		{name: "none without a reason", mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceNone} }), path: evidence, detail: "reason"},
		{
			name:   "a reason with another kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.Reason = "x" }),
			path:   evidence, detail: "reason",
		},
		{
			name:   "a rollout without nodes",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceStaticPodRevision} }),
			path:   domain + ".relyingParties[0]", detail: "forEachNode",
		},
		{
			name:   "unlisted leaves that need no time",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].UnlistedLeaves = &UnlistedLeaves{} },
			path:   domain + ".unlistedLeaves.drain", detail: "between 1s and 8760h",
		},
		{
			name:   "a rollout to every node",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.NodeSelector = metav1.LabelSelector{} },
			path:   "spec.rollout.staticPod.nodeSelector", detail: "every node of the cluster",
		},
		{
			name:   "a quorum that is asked in the clear",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.Quorum.Endpoint = "http://{node}:2379" },
			path:   "spec.rollout.staticPod.quorum.endpoint", detail: "match",
		},
		{name: "trust stores with one key", mutate: onStores("a", "a"), path: domain + ".bundle.additionalFormats", detail: "keys that differ"},
		{name: "a trust store with the key of the PEM", mutate: onStores("ca-bundle.crt", "a"), path: store, detail: "must be a key other than"},
		{name: "a trust store with the key of the hashes", mutate: onStores("superseded-contents", "a"), path: store, detail: "must be a key other than"},
		{name: "a trust store with a key that climbs", mutate: onStores("..a", "b"), path: store, detail: "two dots"},
		{
			name:   "keystores with one key",
			mutate: onKeystores("a", "a", ""), path: domain + ".leaves[0].keystores", detail: "keys that differ",
		},
		{name: "a keystore with the key of the pair", mutate: onKeystores("tls.key", "", ""), path: keystore + ".key", detail: "must be a key other than"},
		{name: "a keystore with the key of the anchors", mutate: onKeystores("ca.crt", "", ""), path: keystore + ".key", detail: "must be a key other than"},
		{name: "a keystore with the key of the hashes", mutate: onKeystores("superseded-contents", "", ""), path: keystore + ".key", detail: "must be a key other than"},
		{name: "a keystore with a key that climbs", mutate: onKeystores("..a", "", ""), path: keystore + ".key", detail: "two dots"},
		{name: "a trust store with the key of the leaf", mutate: onKeystores("a", "", "tls.crt"), path: domain + ".leaves[0]", detail: "other than tls.crt"},
		{
			name:   "a keystore without a password",
			mutate: onLeaf(func(l *Leaf) { l.Keystores = &Keystores{PKCS12: &Keystore{Key: "a"}} }), path: keystore + ".passwordSecretRef.name", detail: "at least 1",
		},
		{name: "a trust store without a key", mutate: onStores("", "a"), path: store, detail: "at least 1"},
		{
			name: "a target twice",
			mutate: func(c *RotationConfigurationSpec) {
				guard := InjectionTarget{Kind: InjectValidatingWebhook, Name: "guard"}
				c.TrustDomains[0].Bundle.InjectInto = []InjectionTarget{guard, guard}
			},
			path: domain + ".bundle.injectInto[1]", detail: "Duplicate",
		},
		{
			name:   "a user without a name",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Users: []string{""}} }),
			path:   domain + ".relyingParties[0].reporters.users[0]", detail: "at least 1",
		},
		{
			name:   "a user of each node",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Users: []string{"{node}"}} }),
			path:   domain + ".relyingParties[0].reporters.users[0]", detail: "{node}",
		},
		{
			name:   "a member twice in a service account",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{ServiceAccounts: []string{"{member}.{member}"}} }),
			path:   domain + ".relyingParties[0].reporters.serviceAccounts[0]", detail: "{member}.{member}",
		},
		{
			name: "a member twice",
			mutate: onParty(func(p *RelyingParty) {
				p.Members, p.Evidence = []string{"a", "a"}, Evidence{Kind: EvidenceAcknowledgement}
			}),
			path: domain + ".relyingParties[0].members[1]", detail: "Duplicate",
		},
		{
			name:   "a verified leaf twice",
			mutate: onParty(func(p *RelyingParty) { p.Verifies.Leaves = []string{"web-client", "web-client"} }),
			path:   domain + ".relyingParties[0].verifies.leaves[1]", detail: "Duplicate",
		},
		{
			name:   "an unknown verified usage",
			mutate: onParty(func(p *RelyingParty) { p.Verifies.Usages = []Usage{"Any"} }),
			path:   domain + ".relyingParties[0].verifies.usages[0]", detail: "ServerAuth",
		},
		{
			name:   "a mounted volume twice",
			mutate: onMounted(func(p *RelyingParty) { p.Evidence.Mounted.LeafVolumes = []string{"tls", "tls"} }),
			path:   evidence + ".mounted.leafVolumes[1]", detail: "Duplicate",
		},
		{
			name: "a workload of another kind",
			mutate: onStarted(func(_ *RotationConfigurationSpec, p *RelyingParty) {
				p.Evidence.WorkloadRollout.Workloads = workloads(Workload{"Job", "web"})
			}),
			path: evidence + ".workloadRollout.workloads[0].kind", detail: "DaemonSet",
		},
		{
			name: "a workload without a name",
			mutate: onStarted(func(_ *RotationConfigurationSpec, p *RelyingParty) {
				p.Evidence.WorkloadRollout.Workloads = workloads(Workload{Deployment, ""})
			}),
			path: evidence + ".workloadRollout.workloads[0].name", detail: "at least 1",
		},
		{
			name:   "parameters of a rollout with another kind",
			mutate: onStarted(func(_ *RotationConfigurationSpec, p *RelyingParty) { p.Evidence.Kind = EvidenceAcknowledgement }),
			path:   evidence, detail: "workloadRollout",
		},
		{
			name:   "kube-apiserver on nodes",
			mutate: hooked(func(_ *TrustDomain, p *RelyingParty) { p.ForEachNode = &metav1.LabelSelector{} }),
			path:   domain + ".relyingParties[2]", detail: "takes no forEachNode",
		},
		{
			name:   "a limit of revisions below all",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.FailedRevisionLimit = -2 },
			path:   "spec.rollout.staticPod.failedRevisionLimit", detail: "-1",
		},
		{
			name:   "a rollout of no class",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.ClassName = "" },
			path:   "spec.rollout.staticPod.className", detail: "at least 1",
		},
		{
			name:   "an unknown strategy",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.Quorum.Strategy = "Hope" },
			path:   "spec.rollout.staticPod.quorum.strategy", detail: "TwoNode",
		},
		{name: "a copy without a kind", mutate: func(c *RotationConfigurationSpec) { c.Copies[0].Kind = "" }, path: "spec.copies[0].kind", detail: "ConfigMap"},
		{
			name: "a copy into another cluster without a namespace", mutate: func(c *RotationConfigurationSpec) { c.Copies[1].Cluster = "east" },
			path: "spec.copies[1]", detail: "needs a toNamespace",
		},
		{
			name: "a cluster with a name of capitals",
			mutate: func(c *RotationConfigurationSpec) {
				c.Clusters = []RemoteCluster{{Name: "East", KubeconfigSecretName: "east"}}
			},
			path: "spec.clusters[0].name", detail: "should match",
		},
		{
			name: "two clusters of one name",
			mutate: func(c *RotationConfigurationSpec) {
				c.Clusters = []RemoteCluster{{Name: "east", KubeconfigSecretName: "a"}, {Name: "east", KubeconfigSecretName: "b"}}
			},
			path: "spec.clusters[1]", detail: "Duplicate",
		},
		{name: "a copy of no kind", mutate: func(c *RotationConfigurationSpec) { c.Copies[0].Kind = "Pod" }, path: "spec.copies[0].kind", detail: "ConfigMap"},
	})
}
