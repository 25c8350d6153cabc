// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects of OpenShift's cluster-etcd-operator.
const (
	etcdSigner         = "etcd-signer"
	etcdBundle         = "etcd-ca-bundle"
	etcdPeer           = "etcd-peer-" + NodePlaceholder
	etcdServing        = "etcd-serving-" + NodePlaceholder
	etcdClient         = "etcd-client"
	metricsSigner      = "etcd-metric-signer"
	metricsBundle      = "etcd-metrics-ca-bundle"
	metricsServing     = "etcd-serving-metrics-" + NodePlaceholder
	metricsClient      = "etcd-metric-client"
	metricsClientName  = "etcd-metric"
	etcdAllCerts       = "etcd-all-certs"
	etcdAllBundles     = "etcd-all-bundles"
	etcdGroup          = "system:etcd"
	controlPlaneLabel  = "node-role.kubernetes.io/master"
	etcdSignerValidity = 5 * 365 * 24 * time.Hour
	etcdLeafValidity   = 3 * 365 * 24 * time.Hour
	// OpenShift's setting: leaves are renewed after 2.2 of their 3 years.
	etcdLeafRenewAtPercent = 73
)

// openShiftEtcd makes the parts of the preset openshift-etcd from its parameters.
type openShiftEtcd struct {
	params OpenShiftEtcdPreset
	nodes  *metav1.LabelSelector
	key    KeyAlgorithm
}

// expandOpenShiftEtcd makes the trust domains of etcd and of its metrics, and the aggregates for the nodes. Leaves
// of nodes set no common name. As in OpenShift, it becomes the smallest of their names and addresses.
func expandOpenShiftEtcd(params OpenShiftEtcdPreset) *RotationConfigurationSpec {
	e := openShiftEtcd{params: params, nodes: params.NodeSelector, key: cmp.Or(params.Key, RSA2048)}
	if e.nodes == nil {
		e.nodes = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: controlPlaneLabel, Operator: metav1.LabelSelectorOpExists},
		}}
	}
	aggregate := &Aggregate{
		SecretName:    etcdAllCerts,
		Leaves:        []string{etcdPeer, etcdServing, metricsServing},
		ConfigMapName: etcdAllBundles,
		Bundles: []AggregatedBundle{
			{Key: "server-ca-bundle.crt", ConfigMapName: etcdBundle},
			{Key: "metrics-ca-bundle.crt", ConfigMapName: metricsBundle},
		},
	}
	out := &RotationConfigurationSpec{TrustDomains: []TrustDomain{e.etcd(), e.metrics()}, Aggregate: aggregate}
	if params.Rollout != nil {
		out.Rollout = e.rollout()
	}
	if params.Copies {
		out.Copies = openShiftCopies()
	}
	return out
}

// etcd is the domain in which the members verify the peer leaves of each other, in both directions, and the leaves
// of clients. The clients, such as kube-apiserver, verify the serving leaves.
func (e openShiftEtcd) etcd() TrustDomain {
	return TrustDomain{
		Name:   "etcd",
		Signer: e.signer(etcdSigner),
		Bundle: Bundle{ConfigMapName: etcdBundle},
		Leaves: []Leaf{
			e.nodeLeaf(etcdPeer),
			e.nodeLeaf(etcdServing),
			e.clientLeaf(etcdClient, etcdClient),
		},
		RelyingParties: append(
			e.members("etcd", etcdClient, port{"etcd-serving", 2379, etcdServing}, port{"etcd-peer", 2380, etcdPeer}),
			e.clients("clients", etcdServing, etcdClient, e.params.Clients)),
	}
}

// metrics is the domain in which Prometheus and the metrics proxies verify each other.
func (e openShiftEtcd) metrics() TrustDomain {
	return TrustDomain{
		Name:   "etcd-metrics",
		Signer: e.signer(metricsSigner),
		Bundle: Bundle{ConfigMapName: metricsBundle},
		Leaves: []Leaf{
			e.nodeLeaf(metricsServing),
			e.clientLeaf(metricsClient, metricsClientName),
		},
		RelyingParties: append(
			e.members("etcd-metrics", metricsClient, port{"etcd-metrics-serving", 9979, metricsServing}),
			e.clients("prometheus", metricsServing, metricsClient, e.params.MetricsClients)),
	}
}

func (e openShiftEtcd) signer(secretName string) Signer {
	return Signer{SecretName: secretName, Policy: IssuancePolicy{
		Key:            e.key,
		Validity:       validityOr(e.params.SignerValidity, etcdSignerValidity),
		RenewAtPercent: DefaultRenewAtPercent,
	}}
}

// validityOr returns a duration that shares no memory with the parameters.
func validityOr(given *metav1.Duration, otherwise time.Duration) *metav1.Duration {
	if given != nil {
		otherwise = given.Duration
	}
	return &metav1.Duration{Duration: otherwise}
}

func (e openShiftEtcd) leafPolicy() IssuancePolicy {
	return IssuancePolicy{
		Key:            e.key,
		Validity:       validityOr(e.params.LeafValidity, etcdLeafValidity),
		RenewAtPercent: etcdLeafRenewAtPercent,
	}
}

func (e openShiftEtcd) nodeLeaf(secretName string) Leaf {
	return Leaf{
		SecretName:  secretName,
		ForEachNode: e.nodes.DeepCopy(),
		DNSNames: []string{
			"localhost",
			"etcd.kube-system.svc",
			"etcd.kube-system.svc.cluster.local",
			"etcd.openshift-etcd.svc",
			"etcd.openshift-etcd.svc.cluster.local",
		},
		IPAddresses:   []string{"127.0.0.1", "::1"},
		NodeAddresses: true,
		Usages:        []Usage{ClientAuth, ServerAuth},
		Policy:        e.leafPolicy(),
	}
}

// clientLeaf is the leaf of a user of etcd, who is also in a group of the same name.
func (e openShiftEtcd) clientLeaf(secretName, user string) Leaf {
	return Leaf{
		SecretName:    secretName,
		CommonName:    user,
		Organizations: []string{user, etcdGroup},
		Usages:        []Usage{ClientAuth},
		Policy:        e.leafPolicy(),
	}
}
