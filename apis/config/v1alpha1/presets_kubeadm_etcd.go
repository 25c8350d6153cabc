// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Names of the preset kubeadm-etcd that the manifests of its static pods and the StaticPodClass must use.
const (
	KubeadmNamespace        = "kube-system"
	KubeadmClass            = "kubeadm-etcd"
	KubeadmStaticPod        = "etcd"
	KubeadmCompanion        = "kube-apiserver"
	KubeadmTemplates        = KubeadmStaticPod + "-pod"
	KubeadmCertsSecret      = etcdAllCerts
	KubeadmServerLeaf       = "etcd-server-" + NodePlaceholder
	KubeadmPeerLeaf         = etcdPeer
	KubeadmAPIServerLeaf    = "apiserver-etcd-client-" + NodePlaceholder
	KubeadmBundlesConfigMap = etcdAllBundles
	KubeadmBundleKey        = "etcd-ca.crt"
)

const (
	kubeadmSigner         = "etcd-ca"
	kubeadmHealthcheck    = "etcd-healthcheck-client"
	kubeadmClientPrefix   = "etcd-client-"
	kubeadmControlPlane   = "node-role.kubernetes.io/control-plane"
	kubeadmSignerValidity = 10 * 365 * 24 * time.Hour
	kubeadmLeafValidity   = 365 * 24 * time.Hour
)

// kubeadmEtcd makes the parts of the preset kubeadm-etcd from its parameters, with their defaults.
type kubeadmEtcd struct {
	params KubeadmEtcdPreset
	policy IssuancePolicy
}

func newKubeadmEtcd(params *KubeadmEtcdPreset) *kubeadmEtcd {
	k := &kubeadmEtcd{}
	if params != nil {
		k.params = *params.DeepCopy()
	}
	k.params.ClassName = cmp.Or(k.params.ClassName, KubeadmClass)
	k.params.Key = cmp.Or(k.params.Key, RSA2048)
	if k.params.NodeSelector == nil {
		k.params.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: kubeadmControlPlane, Operator: metav1.LabelSelectorOpExists},
		}}
	}
	k.policy = IssuancePolicy{Key: k.params.Key, Validity: validityOr(k.params.LeafValidity, kubeadmLeafValidity)}
	return k
}

// expand makes one domain, because kubeadm has one CA for the members and clients of etcd. kube-apiserver reads
// its trust only when it starts, as etcd does. So both are static pods of the rollout, and restart together on
// each node.
func (k *kubeadmEtcd) expand() *RotationConfigurationSpec {
	return &RotationConfigurationSpec{
		TrustDomains: []TrustDomain{k.domain()},
		Aggregate: &Aggregate{
			SecretName: KubeadmCertsSecret, Leaves: []string{KubeadmServerLeaf, KubeadmPeerLeaf, KubeadmAPIServerLeaf},
			ConfigMapName: KubeadmBundlesConfigMap, Bundles: []AggregatedBundle{{Key: KubeadmBundleKey, ConfigMapName: etcdBundle}},
		},
		Rollout: &Rollout{StaticPod: &StaticPodRollout{
			Name: KubeadmStaticPod, Companions: []string{KubeadmCompanion}, NodeSelector: *k.nodes(), ClassName: k.params.ClassName,
			Quorum: &Quorum{
				Endpoint: "https://" + NodePlaceholder + ":2379", ClientLeaf: kubeadmHealthcheck, BundleConfigMapName: etcdBundle, Strategy: k.params.Strategy,
			},
		}},
	}
}

func (k *kubeadmEtcd) nodes() *metav1.LabelSelector { return k.params.NodeSelector.DeepCopy() }

func (k *kubeadmEtcd) domain() TrustDomain {
	signer := k.policy
	signer.Validity = validityOr(k.params.SignerValidity, kubeadmSignerValidity)
	domain := TrustDomain{
		Name:   "etcd",
		Signer: Signer{SecretName: kubeadmSigner, Policy: signer},
		Bundle: Bundle{ConfigMapName: etcdBundle},
		Leaves: []Leaf{
			k.memberLeaf(KubeadmServerLeaf), k.memberLeaf(KubeadmPeerLeaf),
			k.clientLeaf(KubeadmAPIServerLeaf, "kube-apiserver-etcd-client"), k.clientLeaf(kubeadmHealthcheck, "kube-etcd-healthcheck-client"),
		},
		RelyingParties: []RelyingParty{
			k.placed(KubeadmStaticPod, LeafSelection{Usages: []Usage{ClientAuth}}, KubeadmServerLeaf, KubeadmPeerLeaf),
			k.probed("etcd-server", "2379", KubeadmServerLeaf), k.probed("etcd-peer", "2380", KubeadmPeerLeaf),
			k.placed(KubeadmCompanion, LeafSelection{Leaves: []string{KubeadmServerLeaf}}, KubeadmAPIServerLeaf),
			{
				Name: "certrotation", Verifies: LeafSelection{Nothing: true}, Presents: []string{kubeadmHealthcheck},
				Evidence: Evidence{Kind: EvidenceNone, Reason: "the controller reads this leaf, and the bundle, from the API each time it asks a member of etcd"},
			},
		},
	}
	domain.Leaves[2].ForEachNode = k.nodes()
	for _, client := range k.params.Clients {
		leaf := kubeadmClientPrefix + client
		domain.Leaves = append(domain.Leaves, k.clientLeaf(leaf, leaf))
		domain.RelyingParties = append(domain.RelyingParties, RelyingParty{
			Name: "client-" + client, Verifies: LeafSelection{Leaves: []string{KubeadmServerLeaf}}, Presents: []string{leaf},
			Evidence: Evidence{Kind: EvidenceAcknowledgement},
		})
	}
	return domain
}

// memberLeaf has both usages, as in kubeadm. Peers are servers and clients of each other, and etcd dials its own
// client port with its serving leaf.
func (k *kubeadmEtcd) memberLeaf(name string) Leaf {
	return Leaf{
		SecretName: name, ForEachNode: k.nodes(), NodeAddresses: true,
		DNSNames: []string{"localhost"}, IPAddresses: []string{"127.0.0.1", "::1"},
		Usages: []Usage{ClientAuth, ServerAuth}, Policy: k.policy,
	}
}

func (k *kubeadmEtcd) clientLeaf(name, user string) Leaf {
	return Leaf{SecretName: name, CommonName: user, Usages: []Usage{ClientAuth}, Policy: k.policy}
}

// placed is proven by the revision that runs on the node, in all of its static pods.
func (k *kubeadmEtcd) placed(name string, verifies LeafSelection, presents ...string) RelyingParty {
	return RelyingParty{
		Name: name, Verifies: verifies, Presents: slices.Clone(presents), ForEachNode: k.nodes(), Evidence: Evidence{Kind: EvidenceStaticPodRevision},
	}
}

// probed is proven by what a member of etcd shows at one of its ports.
func (k *kubeadmEtcd) probed(name, port, presents string) RelyingParty {
	return RelyingParty{
		Name: name, Verifies: LeafSelection{Usages: []Usage{ClientAuth}}, Presents: []string{presents}, ForEachNode: k.nodes(),
		Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{
			Endpoints: []ProbeEndpoint{{Address: NodePlaceholder + ":" + port, Presents: presents}}, ClientLeaf: kubeadmHealthcheck,
		}},
	}
}

func validateKubeadmEtcd(params *KubeadmEtcdPreset, path *field.Path) field.ErrorList {
	errs := validateSelector(params.NodeSelector, path.Child("nodeSelector"))
	if params.ClassName != "" {
		errs = append(errs, validateName(params.ClassName, path.Child("className"))...)
	}
	return append(errs, validateEach(params.Clients, path.Child("clients"), validateLabelName)...)
}
