// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "fmt"

// rolledOut returns the evidence of pods that must restart for each new content. With restartedElsewhere,
// certrotation does not restart them.
func (h *hostedEtcd) rolledOut(gate StartGate, workload RestartedWorkload) Evidence {
	evidence := Evidence{Kind: EvidenceWorkloadRollout, WorkloadRollout: &WorkloadRollout{StartGate: gate}}
	if !h.params.RestartedElsewhere {
		evidence.WorkloadRollout.Workloads = []RestartedWorkload{workload}
	}
	return evidence
}

// members is the StatefulSet. Its pods are replaced one at a time, while the other members have a quorum.
func (h *hostedEtcd) members() RestartedWorkload {
	return RestartedWorkload{
		Workload: Workload{Kind: StatefulSet, Name: h.params.StatefulSet},
		Quorum: &Quorum{
			Endpoint:            fmt.Sprintf("https://%s:%d", PodPlaceholder, h.params.ClientPort),
			ServerName:          h.names[0],
			ClientLeaf:          h.asker(),
			BundleConfigMapName: h.bundle(),
		},
	}
}

// ofQuorum is certrotation itself. It asks the members with its own leaf, so that the log of etcd names it.
func (h *hostedEtcd) ofQuorum() RelyingParty {
	return RelyingParty{
		Name:     "quorum",
		Verifies: LeafSelection{Usages: []Usage{ServerAuth}},
		Presents: []string{h.asker()},
		Members:  []string{"certrotation"},
		Evidence: Evidence{Kind: EvidenceNone, Reason: "certrotation reads bundle and leaf anew each time when it asks the members of etcd"},
	}
}

// started are the members of etcd, proven by what their pods started with. Sidecars in these pods also read their
// leaves at the start.
func (h *hostedEtcd) started(sidecars []string) RelyingParty {
	return RelyingParty{
		Name:     "etcd",
		Pods:     &PodMembers{Selector: *h.params.MemberSelector.DeepCopy()},
		Presents: sidecars,
		Evidence: h.rolledOut(h.params.StartGate, h.members()),
	}
}

// probed are the members of etcd, proven by what the running process shows at one port: its leaf, and the CAs that
// it accepts. etcd reads the leaf at each handshake. The CAs must agree with what the pod started with, as the
// flags of etcd may name another file.
func (h *hostedEtcd) probed(name string, port int32, presents, clientLeaf string) RelyingParty {
	return RelyingParty{
		Name:     name,
		Pods:     &PodMembers{Selector: *h.params.MemberSelector.DeepCopy(), ContainerPort: port},
		Verifies: LeafSelection{Usages: []Usage{ClientAuth}},
		Presents: []string{presents},
		Evidence: Evidence{Kind: EvidenceTLSProbe, TLSProbe: &TLSProbe{ServerName: h.names[0], ClientLeaf: clientLeaf}},
	}
}

// ofAPIServer proves its leaf by a restart too. kube-apiserver reads it at each handshake with etcd, but keeps its
// connections. Nothing outside observes which leaf a client presents.
func (h *hostedEtcd) ofAPIServer() RelyingParty {
	return RelyingParty{
		Name:     "kube-apiserver",
		Pods:     &PodMembers{Selector: *h.params.APIServerSelector.DeepCopy()},
		Verifies: LeafSelection{Usages: []Usage{ServerAuth}},
		Presents: []string{h.apiServer()},
		Evidence: h.rolledOut(StartGateRequired, RestartedWorkload{Workload: Workload{Kind: Deployment, Name: h.params.Deployment}}),
	}
}

// ofClient is a client with pods of its own.
func (h *hostedEtcd) ofClient(client *HostedEtcdClient, leaf string) RelyingParty {
	party := RelyingParty{
		Name:     "client-" + client.Name,
		Pods:     &PodMembers{Selector: *client.Selector.DeepCopy()},
		Verifies: LeafSelection{Usages: []Usage{ServerAuth}},
		Presents: []string{leaf},
		Evidence: Evidence{Kind: EvidenceAcknowledgement},
	}
	if client.Workload != nil {
		party.Evidence = h.rolledOut(StartGateRequired, RestartedWorkload{Workload: *client.Workload})
	}
	if client.ServiceAccountName != "" {
		party.Reporters = &Reporters{ServiceAccounts: []string{client.ServiceAccountName}}
	}
	return party
}
