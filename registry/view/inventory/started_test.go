// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const contentKey = "configmap.content.certrotation.dev/web-bundle"

// owned returns a client pod with an owner.
func owned(apiVersion, kind, name string) *corev1.Pod {
	pod := clientPod("web-1")
	pod.Labels["pod-template-hash"] = "5d9c7"
	pod.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "other"}, {APIVersion: apiVersion, Kind: kind, Name: name, Controller: new(true)},
	}
	return pod
}

func TestWorkloadOfAPod(t *testing.T) {
	unlabelled := owned("apps/v1", "ReplicaSet", "web-5d9c7")
	delete(unlabelled.Labels, "pod-template-hash")
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want trust.Workload
	}{
		"nobody":                              {clientPod("web"), trust.Workload{}},
		"a StatefulSet":                       {owned("apps/v1", "StatefulSet", "web"), trust.Workload{Kind: trust.StatefulSet, Name: "web"}},
		"a DaemonSet":                         {owned("apps/v1", "DaemonSet", "web"), trust.Workload{Kind: trust.DaemonSet, Name: "web"}},
		"a Deployment":                        {owned("apps/v1", "ReplicaSet", "web-5d9c7"), trust.Workload{Kind: trust.Deployment, Name: "web"}},
		"a ReplicaSet of its own":             {owned("apps/v1", "ReplicaSet", "web"), trust.Workload{}},
		"a ReplicaSet, and no label":          {unlabelled, trust.Workload{}},
		"a Job":                               {owned("batch/v1", "Job", "web"), trust.Workload{}},
		"a StatefulSet of another API":        {owned("apps.kruise.io/v1", "StatefulSet", "web"), trust.Workload{}},
		"a kind that is not made by anything": {owned("apps/v1", "Deployment", "web"), trust.Workload{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inventory.ParsePod(tt.pod).Workload; got != tt.want {
				t.Errorf("workload %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestPartyOfStartedPods: the model knows the workloads that may be restarted, and the content that each pod
// names.
func TestPartyOfStartedPods(t *testing.T) {
	for name, tt := range map[string]struct {
		parameters string
		assumed    bool
		workloads  []trust.Workload
	}{
		"the defaults": {parameters: ""},
		"without a gate": {
			parameters: ", workloadRollout: {startGate: Assumed, workloads: [{kind: StatefulSet, name: b}, {kind: Deployment, name: a}]}",
			assumed:    true, workloads: []trust.Workload{{Kind: trust.StatefulSet, Name: "b"}, {Kind: trust.Deployment, Name: "a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := strings.Replace(podsConfig, "evidence: {kind: acknowledgement}", "evidence: {kind: workloadRollout"+tt.parameters+"}", 1)
			config = strings.Replace(config, "    reporters: {serviceAccounts: [\"web-{member}\"], groups: [web-operators]}\n", "", 1)
			pod := owned("apps/v1", "StatefulSet", "b")
			pod.Annotations = map[string]string{contentKey: "h", "example.com/other": "x"}
			s := sources(t, configuration("config", config))
			s.Pods = map[string]*inventory.Pod{pod.Name: inventory.ParsePod(pod)}
			n := inventory.Build(s)
			if len(n.Domains) != 1 {
				t.Fatalf("problems %+v", n.Problems)
			}
			p := n.Domain("web").Parties[1]
			if p.Kind != trust.WorkloadRollout || p.StartAssumed != tt.assumed || len(p.Members) != 1 {
				t.Fatalf("party %+v", p)
			}
			if diff := cmp.Diff(tt.workloads, p.Workloads); diff != "" {
				t.Errorf("workloads (-want +got):\n%s", diff)
			}
			if m := p.Members[0]; m.Workload != (trust.Workload{Kind: trust.StatefulSet, Name: "b"}) || !cmp.Equal(m.Content, map[string]string{contentKey: "h"}) {
				t.Errorf("member %+v", m)
			}
		})
	}
}
