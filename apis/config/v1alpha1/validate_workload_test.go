// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onStarted gives the party "server" pods with the evidence workloadRollout.
func onStarted(mutate func(*RotationConfigurationSpec, *RelyingParty)) func(*RotationConfigurationSpec) {
	return func(c *RotationConfigurationSpec) {
		acknowledgedPods(func(p *RelyingParty) {
			p.Evidence = Evidence{Kind: EvidenceWorkloadRollout, WorkloadRollout: &WorkloadRollout{
				StartGate: StartGateAssumed, Workloads: workloads(Workload{Deployment, "web"}, Workload{StatefulSet, "web"}, Workload{DaemonSet, "web.logs"}),
			}}
			mutate(c, p)
		})(c)
	}
}

// rename changes the names of the bundle and of the leaf of the server.
func rename(c *RotationConfigurationSpec, p *RelyingParty, bundle, leaf string) {
	domain := &c.TrustDomains[0]
	domain.Bundle.ConfigMapName, domain.Leaves[0].SecretName = bundle, leaf
	p.Presents = []string{leaf}
	domain.RelyingParties[1].Verifies.Leaves = []string{leaf}
	c.Aggregate.Leaves[1], c.Aggregate.Bundles[0].ConfigMapName = leaf, bundle
}

func TestValidateWorkloadRollout(t *testing.T) {
	const (
		server   = "spec.trustDomains[0].relyingParties[0]"
		evidence = server + ".evidence"
	)
	fits, long := strings.Repeat("a", 63), strings.Repeat("a", 64)
	runValidateCases(t, []validateCase{
		{name: "workloads of each kind", mutate: onStarted(func(*RotationConfigurationSpec, *RelyingParty) {})},
		{name: "no parameters", mutate: onStarted(func(_ *RotationConfigurationSpec, p *RelyingParty) { p.Evidence.WorkloadRollout = nil })},
		{name: "names that fit", mutate: onStarted(func(c *RotationConfigurationSpec, p *RelyingParty) { rename(c, p, fits, fits) })},
		{
			name: "names that do not fit", mutate: onStarted(func(c *RotationConfigurationSpec, p *RelyingParty) { rename(c, p, long+"b", long) }),
			want:   []string{"FieldValueInvalid " + server + ".presents[0]", "FieldValueInvalid " + evidence + ".kind"},
			detail: "none can end with the name of",
		},
		{
			name: "the name of a bundle that nobody loads", mutate: onStarted(func(c *RotationConfigurationSpec, p *RelyingParty) {
				rename(c, p, long, "web-server")
				p.Verifies = LeafSelection{Nothing: true}
				c.TrustDomains[0].RelyingParties = append(c.TrustDomains[0].RelyingParties, RelyingParty{
					Name: "who-verifies", Verifies: LeafSelection{Leaves: []string{"web-client"}}, Evidence: Evidence{Kind: EvidenceAcknowledgement},
				})
			}),
		},
		{
			name: "no pods", mutate: onStarted(func(_ *RotationConfigurationSpec, p *RelyingParty) { p.Pods = nil }),
			want: []string{"FieldValueInvalid " + server}, detail: "the party needs pods",
		},
		{
			name: "a leaf for each node", mutate: onNodeParty(func(p *RelyingParty) {
				p.ForEachNode, p.Pods = nil, &PodMembers{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}}
				p.Evidence = Evidence{Kind: EvidenceWorkloadRollout}
			}),
			want: []string{"FieldValueInvalid spec.trustDomains[1].relyingParties[0].presents[0]"}, detail: "another one on each node",
		},
		{
			name: "a gate that is none", mutate: onStarted(func(_ *RotationConfigurationSpec, p *RelyingParty) { p.Evidence.WorkloadRollout.StartGate = "Open" }),
			want: []string{"FieldValueNotSupported " + evidence + ".workloadRollout.startGate"},
		},
		{
			name: "workloads that are none", mutate: onStarted(func(_ *RotationConfigurationSpec, p *RelyingParty) {
				p.Evidence.WorkloadRollout.Workloads = workloads(
					Workload{Deployment, "Web"}, Workload{Deployment, "web"}, Workload{Deployment, "web"})
			}),
			want: []string{"FieldValueInvalid " + evidence + ".workloadRollout.workloads[0].name", "FieldValueDuplicate " + evidence + ".workloadRollout.workloads[2]"},
		},
	})
}

// workloads returns workloads without a quorum.
func workloads(named ...Workload) []RestartedWorkload {
	var out []RestartedWorkload
	for _, w := range named {
		out = append(out, RestartedWorkload{Workload: w})
	}
	return out
}

func TestValidateQuorumOfPods(t *testing.T) {
	const at = "spec.trustDomains[0].relyingParties[0].evidence.workloadRollout.workloads[1].quorum"
	asked := func(edit func(*RotationConfigurationSpec, []RestartedWorkload)) func(*RotationConfigurationSpec) {
		return onStarted(func(c *RotationConfigurationSpec, p *RelyingParty) {
			named := p.Evidence.WorkloadRollout.Workloads
			named[1].Quorum = &Quorum{
				Endpoint: "https://{pod}:2379", ServerName: "etcd.demo.svc", ClientLeaf: "web-client", BundleConfigMapName: c.TrustDomains[0].Bundle.ConfigMapName,
			}
			edit(c, named)
		})
	}
	of := func(edit func(*Quorum)) func(*RotationConfigurationSpec) {
		return asked(func(_ *RotationConfigurationSpec, named []RestartedWorkload) { edit(named[1].Quorum) })
	}
	runValidateCases(t, []validateCase{
		{name: "the pods of a StatefulSet", mutate: of(func(*Quorum) {})},
		{
			name: "of a Deployment", mutate: asked(func(_ *RotationConfigurationSpec, named []RestartedWorkload) {
				named[0].Quorum, named[1].Quorum = named[1].Quorum, nil
			}),
			want: []string{"FieldValueInvalid spec.trustDomains[0].relyingParties[0].evidence.workloadRollout.workloads[0]"}, detail: "a StatefulSet",
		},
		{
			name: "members on nodes", mutate: of(func(q *Quorum) { q.Endpoint = "https://{node}:2379" }),
			want: []string{"FieldValueInvalid " + at + ".endpoint"}, detail: "https://{pod}:port",
		},
		{name: "a port that is none", mutate: of(func(q *Quorum) { q.Endpoint = "https://{pod}:0" }), want: []string{"FieldValueInvalid " + at + ".endpoint"}},
		{name: "a name that is none", mutate: of(func(q *Quorum) { q.ServerName = "a b" }), want: []string{"FieldValueInvalid " + at + ".serverName"}},
		{
			name: "objects of nobody", mutate: of(func(q *Quorum) { q.ClientLeaf, q.BundleConfigMapName = "c", "b" }),
			want: []string{"FieldValueNotFound " + at + ".clientLeaf", "FieldValueNotFound " + at + ".bundleConfigMapName"},
		},
		{
			name: "another one for the same workload", mutate: asked(func(c *RotationConfigurationSpec, _ []RestartedWorkload) {
				c.TrustDomains[0].RelyingParties[1].Evidence = Evidence{Kind: EvidenceWorkloadRollout, WorkloadRollout: &WorkloadRollout{
					Workloads: workloads(Workload{StatefulSet, "web"}),
				}}
				c.TrustDomains[0].RelyingParties[1].Members = nil
				c.TrustDomains[0].RelyingParties[1].Pods = &PodMembers{Selector: *ofApp("other")}
			}),
			want:   []string{"FieldValueInvalid spec.trustDomains[0].relyingParties[1].evidence.workloadRollout.workloads[0].quorum"},
			detail: "the same one wherever it is named",
		},
	})
}
