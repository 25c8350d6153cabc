// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rolloutConfig is a valid configuration whose aggregate is rolled out to static pods.
func rolloutConfig() *RotationConfigurationSpec {
	cfg := validConfig()
	cfg.Aggregate = &Aggregate{
		SecretName: "all-certs", ConfigMapName: "all-bundles", Leaves: []string{"node-{node}"},
		Bundles: []AggregatedBundle{{Key: "ca.crt", ConfigMapName: "nodes-bundle"}},
	}
	cfg.Rollout = &Rollout{StaticPod: &StaticPodRollout{
		Name:         "store",
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "store"}},
		ClassName:    "store",
		Quorum:       &Quorum{Endpoint: "https://{node}:2379", ClientLeaf: "web-client", BundleConfigMapName: "nodes-bundle"},
	}}
	cfg.Copies = []Copy{
		{Kind: CopyConfigMap, Name: "nodes-bundle", ToNamespace: "elsewhere"},
		{Kind: CopySecret, Name: "web-client", ToName: "web-client-copy"},
	}
	return cfg
}

func TestValidateRolloutAndCopies(t *testing.T) {
	const rollout = "spec.rollout.staticPod"
	for _, tc := range []struct {
		name   string
		mutate func(*RotationConfigurationSpec)
		want   []string
	}{
		{name: "valid", mutate: func(*RotationConfigurationSpec) {}},
		{
			name:   "rollout of no kind",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod = nil },
			want:   []string{"FieldValueInvalid spec.rollout"},
		},
		{
			name:   "companions",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.Companions = []string{"proxy"} },
		},
		{
			name: "names of companions",
			mutate: func(c *RotationConfigurationSpec) {
				c.Rollout.StaticPod.Companions = []string{"a.b", "store", "pod"}
			},
			want: []string{
				"FieldValueInvalid " + rollout + ".companions[0]",
				"FieldValueInvalid " + rollout + ".companions",
				"FieldValueInvalid " + rollout + ".companions",
			},
		},
		{
			name: "names",
			mutate: func(c *RotationConfigurationSpec) {
				r := c.Rollout.StaticPod
				r.Name, r.PodConfigMapName, r.ClassName = "a.b", "A", "B"
			},
			want: []string{"FieldValueInvalid " + rollout + ".name", "FieldValueInvalid " + rollout + ".podConfigMapName", "FieldValueInvalid " + rollout + ".className"},
		},
		{
			name:   "class that climbs",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.ClassName = "../etcd" },
			want:   []string{"FieldValueInvalid " + rollout + ".className"},
		},
		{
			name: "reloaded Secret that is not rolled out",
			mutate: func(c *RotationConfigurationSpec) {
				c.Rollout.StaticPod.SecretNames, c.Rollout.StaticPod.ReloadedSecretNames = []string{"all-certs"}, []string{"other"}
			},
			want: []string{"FieldValueNotFound " + rollout + ".reloadedSecretNames[0]", "FieldValueInvalid " + rollout + ".reloadedSecretNames"},
		},
		{
			name: "aggregate Secret that would restart",
			mutate: func(c *RotationConfigurationSpec) {
				c.Rollout.StaticPod.SecretNames, c.Rollout.StaticPod.ReloadedSecretNames = []string{"all-certs", "other"}, []string{"other"}
			},
			want: []string{"FieldValueInvalid " + rollout + ".reloadedSecretNames"},
		},
		{
			name: "aggregate Secret that is not rolled out, beside one that restarts",
			mutate: func(c *RotationConfigurationSpec) {
				c.Rollout.StaticPod.SecretNames, c.Rollout.StaticPod.ReloadedSecretNames = []string{"other"}, []string{"other"}
			},
		},
		{
			name:   "the manifest twice",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.ConfigMapNames = []string{"store-pod"} },
			want:   []string{"FieldValueInvalid " + rollout + ".configMapNames"},
		},
		{
			name: "no aggregate and nothing named",
			mutate: func(c *RotationConfigurationSpec) {
				c.Aggregate = nil
			},
			want: []string{"FieldValueRequired " + rollout + ".configMapNames"},
		},
		{
			name: "quorum",
			mutate: func(c *RotationConfigurationSpec) {
				c.Rollout.StaticPod.Quorum = &Quorum{Endpoint: "https://{node}:0x:2379", ClientLeaf: "no", BundleConfigMapName: "no"}
			},
			want: []string{"FieldValueInvalid " + rollout + ".quorum.endpoint", "FieldValueNotFound " + rollout + ".quorum.clientLeaf", "FieldValueNotFound " + rollout + ".quorum.bundleConfigMapName"},
		},
		{
			name:   "quorum without the node",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.Quorum.Endpoint = "https://store:2379" },
			want:   []string{"FieldValueInvalid " + rollout + ".quorum.endpoint"},
		},
		{
			name: "copies of what nobody has, and of a signer",
			mutate: func(c *RotationConfigurationSpec) {
				c.Copies = []Copy{{Kind: CopyConfigMap, Name: "no"}, {Kind: CopySecret, Name: "web-signer", ToName: "key"}}
			},
			want: []string{"FieldValueNotFound spec.copies[0].name", "FieldValueNotFound spec.copies[1].name"},
		},
		{
			name: "copies over each other and over their source",
			mutate: func(c *RotationConfigurationSpec) {
				c.Copies = append(c.Copies, c.Copies[0], Copy{Kind: CopySecret, Name: "web-client"},
					Copy{Kind: CopyConfigMap, Name: "nodes-bundle", ToNamespace: "A b", ToName: "kube-root-ca.crt"})
			},
			want: []string{
				"FieldValueInvalid spec.copies[2]", "FieldValueInvalid spec.copies[3]",
				"FieldValueInvalid spec.copies[4].toNamespace", "FieldValueForbidden spec.copies[4]",
			},
		},
		{
			name: "copies into other clusters",
			mutate: func(c *RotationConfigurationSpec) {
				c.Clusters = []RemoteCluster{{Name: "east", KubeconfigSecretName: "east"}, {Name: "west", KubeconfigSecretName: "west"}}
				c.Copies = append(c.Copies, Copy{Kind: CopySecret, Name: "web-client", Cluster: "east", ToNamespace: "demo"},
					Copy{Kind: CopySecret, Name: "web-client", Cluster: "west", ToNamespace: "demo"})
			},
		},
		{
			name: "copies into a cluster that is not there, and twice",
			mutate: func(c *RotationConfigurationSpec) {
				c.Clusters = []RemoteCluster{{Name: "east", KubeconfigSecretName: "east"}}
				into := func(cluster string) Copy {
					return Copy{Kind: CopySecret, Name: "web-client", Cluster: cluster, ToNamespace: "demo"}
				}
				c.Copies = []Copy{into("north"), into("east"), into("east")}
			},
			want: []string{"FieldValueNotFound spec.copies[0].cluster", "FieldValueInvalid spec.copies[2]"},
		},
		{
			name: "kubeconfigs in a leaf, and in one Secret for two",
			mutate: func(c *RotationConfigurationSpec) {
				c.Clusters = []RemoteCluster{
					{Name: "a", KubeconfigSecretName: "web-client"}, {Name: "b", KubeconfigSecretName: "kubeconfig"},
					{Name: "c", KubeconfigSecretName: "kubeconfig"}, {Name: "d", KubeconfigSecretName: "No"},
				}
			},
			want: []string{
				"FieldValueInvalid spec.clusters[0].kubeconfigSecretName", "FieldValueInvalid spec.clusters[2].kubeconfigSecretName",
				"FieldValueInvalid spec.clusters[3].kubeconfigSecretName",
			},
		},
		{
			name: "evidence of a rollout that does not bring the bundle",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].RelyingParties[0].Evidence = Evidence{Kind: EvidenceStaticPodRevision}
				c.Aggregate.Bundles[0].ConfigMapName = "web-bundle"
			},
			want: []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[0].evidence.kind"},
		},
		{
			name: "evidence of a rollout that leaves the aggregate out",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].RelyingParties[0].Evidence = Evidence{Kind: EvidenceStaticPodRevision}
				c.Rollout.StaticPod.ConfigMapNames = []string{"other"}
			},
			want: []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[0].evidence.kind"},
		},
		{
			name: "evidence of a rollout that does not bring the leaf",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].RelyingParties[0].Evidence = Evidence{Kind: EvidenceStaticPodRevision}
				c.Aggregate.Leaves = []string{"web-server"}
			},
			want: []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[0].presents[0]"},
		},
		{
			name: "evidence of a rollout",
			mutate: func(c *RotationConfigurationSpec) {
				c.TrustDomains[1].RelyingParties[0].Evidence = Evidence{Kind: EvidenceStaticPodRevision}
			},
		},
		{
			name: "evidence of no rollout",
			mutate: func(c *RotationConfigurationSpec) {
				c.Rollout, c.Copies = nil, nil
				c.TrustDomains[1].RelyingParties[0].Evidence = Evidence{Kind: EvidenceStaticPodRevision}
			},
			want: []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[0].evidence.kind"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := rolloutConfig()
			tc.mutate(cfg)
			errs := refusals(t, cfg, "ns")
			if diff := cmp.Diff(tc.want, summary(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%v", diff, errs.ToAggregate())
			}
		})
	}
}

func TestRolloutDefaults(t *testing.T) {
	cfg := rolloutConfig()
	SetDefaults(cfg)
	want := &StaticPodRollout{
		Name:         "store",
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "store"}},
		ClassName:    "store",

		PodConfigMapName:    "store-pod",
		ConfigMapNames:      []string{"all-bundles"},
		SecretNames:         []string{"all-certs"},
		ReloadedSecretNames: []string{"all-certs"},
		Coalesce:            duration(3 * time.Second),
		InstallerTimeout:    duration(2 * time.Minute),
		StaticPodTimeout:    duration(5 * time.Minute),

		FailedRevisionLimit:    5,
		SucceededRevisionLimit: 5,
		Quorum: &Quorum{
			Endpoint: "https://{node}:2379", ClientLeaf: "web-client", BundleConfigMapName: "nodes-bundle",
			Strategy: QuorumAutomatic, Timeout: duration(10 * time.Second),
		},
	}
	if diff := cmp.Diff(want, cfg.Rollout.StaticPod); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestPresetOpenShiftEtcdWithRollout(t *testing.T) {
	cfg := expanded(t, &RotationConfigurationSpec{Preset: &Preset{
		Name: PresetOpenShiftEtcd,
		OpenShiftEtcd: &OpenShiftEtcdPreset{
			Clients:        []string{"kube-apiserver-0", "kube-apiserver-1"},
			SignerValidity: duration(240 * time.Hour),
			LeafValidity:   duration(24 * time.Hour),
			Copies:         true,
			Rollout:        &OpenShiftEtcdRollout{ClassName: "etcd"},
		},
	}}, "openshift-etcd")
	got := map[string]EvidenceKind{}
	addresses := map[string][]ProbeEndpoint{}
	for _, domain := range cfg.TrustDomains {
		if domain.Signer.Policy.Validity.Duration != 240*time.Hour || domain.Leaves[0].Policy.Validity.Duration != 24*time.Hour {
			t.Errorf("%s: validity %v and %v", domain.Name, domain.Signer.Policy.Validity, domain.Leaves[0].Policy.Validity)
		}
		for _, party := range domain.RelyingParties {
			got[party.Name] = party.Evidence.Kind
			if party.Evidence.TLSProbe != nil {
				addresses[party.Name] = append(addresses[party.Name], party.Evidence.TLSProbe.Endpoints...)
			}
		}
	}
	if diff := cmp.Diff(map[string]EvidenceKind{
		"etcd": EvidenceStaticPodRevision, "etcd-serving": EvidenceTLSProbe, "etcd-peer": EvidenceTLSProbe, "clients": EvidenceAcknowledgement,
		"etcd-metrics": EvidenceStaticPodRevision, "etcd-metrics-serving": EvidenceTLSProbe, "prometheus": EvidenceAcknowledgement,
	}, got); diff != "" {
		t.Errorf("parties (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]ProbeEndpoint{
		"etcd-serving":         {{Address: "{node}:2379", Presents: "etcd-serving-{node}", ClientLeaf: "etcd-client"}},
		"etcd-peer":            {{Address: "{node}:2380", Presents: "etcd-peer-{node}", ClientLeaf: "etcd-client"}},
		"etcd-metrics-serving": {{Address: "{node}:9979", Presents: "etcd-serving-metrics-{node}", ClientLeaf: "etcd-metric-client"}},
	}, addresses); diff != "" {
		t.Errorf("probes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"etcd-peer-{node}", "etcd-serving-{node}"}, cfg.TrustDomains[0].RelyingParties[0].Presents); diff != "" {
		t.Errorf("the party etcd presents (-want +got):\n%s", diff)
	}
	if cfg.Rollout.StaticPod.SecretNames[0] != "etcd-all-certs" || len(cfg.Copies) != 7 {
		t.Errorf("rollout %+v, %d copies", cfg.Rollout.StaticPod, len(cfg.Copies))
	}
	if errs := refusals(t, cfg, "openshift-etcd"); len(errs) > 0 {
		t.Errorf("what the preset expands to is not valid: %v", errs.ToAggregate())
	}
}
