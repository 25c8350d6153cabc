// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// port is where a member of etcd presents one of its leaves, and the name of the party that is probed there.
type port struct {
	party    string
	number   int
	presents string
}

// members returns the relying parties for the nodes. With a rollout, one is for the content that the rollout has
// installed on the node. One for each port is for what the running process shows. All of them must agree. Without
// a rollout, each member acknowledges.
func (e openShiftEtcd) members(name, probeWith string, ports ...port) []RelyingParty {
	party := RelyingParty{
		Name:        name,
		Verifies:    LeafSelection{Usages: []Usage{ClientAuth}},
		ForEachNode: e.nodes.DeepCopy(),
		Evidence:    Evidence{Kind: EvidenceAcknowledgement},
	}
	for _, p := range ports {
		party.Presents = append([]string{p.presents}, party.Presents...)
	}
	if e.params.Rollout == nil {
		return []RelyingParty{party}
	}
	party.Evidence.Kind = EvidenceStaticPodRevision
	parties := []RelyingParty{party}
	for _, p := range ports {
		parties = append(parties, RelyingParty{
			Name:        p.party,
			Verifies:    LeafSelection{Usages: []Usage{ClientAuth}},
			Presents:    []string{p.presents},
			ForEachNode: e.nodes.DeepCopy(),
			Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{
				Endpoints:  []ProbeEndpoint{{Address: fmt.Sprintf("%s:%d", NodePlaceholder, p.number), Presents: p.presents}},
				ClientLeaf: probeWith,
			}},
		})
	}
	return parties
}

func (e openShiftEtcd) clients(name, serving, client string, members []string) RelyingParty {
	return RelyingParty{
		Name:     name,
		Verifies: LeafSelection{Usages: []Usage{ServerAuth}, Leaves: []string{serving}},
		Presents: []string{client},
		Members:  slices.Clone(members),
		Evidence: Evidence{Kind: EvidenceAcknowledgement},
	}
}

func (e openShiftEtcd) rollout() *Rollout {
	return &Rollout{StaticPod: &StaticPodRollout{
		Name:         "etcd",
		NodeSelector: *e.nodes.DeepCopy(),
		ClassName:    e.params.Rollout.ClassName,
		Quorum: &Quorum{
			Endpoint:            fmt.Sprintf("https://%s:2379", NodePlaceholder),
			ClientLeaf:          etcdClient,
			BundleConfigMapName: etcdBundle,
			Strategy:            e.params.Rollout.Strategy,
		},
	}}
}

// openShiftCopies returns the copies of cluster-etcd-operator whose sources are in this configuration.
func openShiftCopies() []Copy {
	const operator, config = "openshift-etcd-operator", "openshift-config"
	return []Copy{
		{Kind: CopyConfigMap, Name: etcdBundle, ToNamespace: operator},
		{Kind: CopyConfigMap, Name: etcdBundle, ToNamespace: config},
		{Kind: CopyConfigMap, Name: etcdBundle, ToNamespace: config, ToName: "etcd-serving-ca"},
		{Kind: CopyConfigMap, Name: metricsBundle, ToNamespace: operator, ToName: "etcd-metric-serving-ca"},
		{Kind: CopySecret, Name: metricsClient, ToNamespace: operator},
		{Kind: CopySecret, Name: etcdClient, ToNamespace: operator},
		{Kind: CopySecret, Name: etcdClient, ToNamespace: config},
	}
}

func validateOpenShiftEtcd(params *OpenShiftEtcdPreset, path *field.Path) field.ErrorList {
	errs := validateSelector(params.NodeSelector, path.Child("nodeSelector"))
	errs = append(errs, validateEach(params.Clients, path.Child("clients"), validateName)...)
	errs = append(errs, validateEach(params.MetricsClients, path.Child("metricsClients"), validateName)...)
	if params.Rollout == nil {
		return errs
	}
	return append(errs, validateName(params.Rollout.ClassName, path.Child("rollout", "className"))...)
}
