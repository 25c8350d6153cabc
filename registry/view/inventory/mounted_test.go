// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// mountingConfig is webConfig with clients that are the pods which mount their leaf.
var mountingConfig = strings.Replace(webConfig, "    members: [a, b]\n", "    pods: {mounting: {secretName: web-client}}\n", 1)

func mountsSecret(name, secret string) *corev1.Pod {
	pod := clientPod(name)
	pod.Labels = map[string]string{"app": name}
	pod.Spec.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
	return pod
}

// projects returns a pod that mounts a Secret in a projected volume with other sources.
func projects(name, secret string) *corev1.Pod {
	pod := mountsSecret(name, "")
	pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "web-client"}}},
		{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}},
	}}}
	return pod
}

// TestPodsThatMountALeaf: all pods of the namespace are read. Those that mount the leaf are members, whatever
// their labels.
func TestPodsThatMountALeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := mountsSecret("ended", "web-client")
		ended.Status = corev1.PodStatus{Phase: corev1.PodSucceeded}
		c := newCluster(t, configuration("config", mountingConfig), mountsSecret("a", "web-client"), projects("b", "web-client"),
			mountsSecret("other", "web-server"), projects("configmap", "web-serving"), clientPod("plain"), ended)
		c.run(t)
		if diff := cmp.Diff([]string{"list "}, podRequests(c.actions())); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		chosen := func() (names []string) {
			party := c.Namespace(testNamespace).Domain("web").Parties[1]
			if !party.OfPods || party.Unlisted || party.Selector != trust.Mounting("web-client") {
				t.Errorf("party %+v", party)
			}
			for _, m := range party.Members {
				names = append(names, m.Name+" "+m.Instance+" "+strings.Join(m.Holds, ","))
			}
			return names
		}
		if diff := cmp.Diff([]string{"a uid-a web-client", "b uid-b web-client"}, chosen()); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
		terminating := mountsSecret("a", "web-client")
		terminating.DeletionTimestamp, terminating.Finalizers = &terminating.Status.ContainerStatuses[0].State.Running.StartedAt, []string{"test/hold"}
		c.put(t, terminating)
		c.put(t, mountsSecret("late", "web-client"))
		synctest.Wait()
		if diff := cmp.Diff([]string{"a uid-a web-client", "b uid-b web-client", "late uid-late web-client"}, chosen()); diff != "" {
			t.Errorf("members after one came and one began to go (-want +got):\n%s", diff)
		}
		if m := c.Namespace(testNamespace).Domain("web").Parties[1].Members[0]; m.Pod.Life() != trust.PodTerminating {
			t.Errorf("member %+v", m)
		}
		s, err := c.Live(t.Context(), testNamespace)
		if err != nil || len(s.Pods) != 7 || !s.Selectors[""] {
			t.Errorf("Live() = %v, %v", s, err)
		}
	})
}

// TestPodsThatMountTheLeafOfTheirNode: a pod is chosen by the leaf of the node that it runs on.
func TestPodsThatMountTheLeafOfTheirNode(t *testing.T) {
	config := strings.Replace(webConfig, "    members: [a, b]\n", "    pods: {mounting: {secretName: \"web-serving-{node}\"}}\n", 1)
	config = strings.Replace(config, "    presents: [web-client]\n", "    presents: [web-client, \"web-serving-{node}\"]\n", 1)
	s := sources(t, configuration("config", config), node("n1", "10.0.0.1"), node("n2", "10.0.0.2"))
	s.Pods = map[string]*inventory.Pod{}
	for name, on := range map[string]string{"own": "n1", "foreign": "n2", "pending": ""} {
		pod := mountsSecret(name, "web-serving-n1")
		pod.Spec.NodeName = on
		s.Pods[name] = inventory.ParsePod(pod)
	}
	n := inventory.Build(s)
	if n == nil || len(n.Domains) != 1 {
		t.Fatalf("namespace %+v", n)
	}
	if members := n.Domain("web").Parties[1].Members; len(members) != 1 || members[0].Name != "own" {
		t.Errorf("members %+v", members)
	}
}

// TestPartyThatMounts: the model knows the volumes in which the pods mount their files.
func TestPartyThatMounts(t *testing.T) {
	config := strings.Replace(podsConfig, "evidence: {kind: acknowledgement}", "evidence: {kind: mounted, mounted: {trustVolume: trust, leafVolumes: [tls]}}", 1)
	config = strings.Replace(config, "    reporters: {serviceAccounts: [\"web-{member}\"], groups: [web-operators]}\n", "", 1)
	n := inventory.Build(sources(t, configuration("config", config)))
	if len(n.Domains) != 1 {
		t.Fatalf("problems %+v", n.Problems)
	}
	p := n.Domain("web").Parties[1]
	if diff := cmp.Diff(trust.Mounts{Trust: "trust", TrustKey: "ca-bundle.crt", Leaves: []string{"tls"}}, p.Mounts); p.Kind != trust.Mounted || diff != "" {
		t.Errorf("kind %s, mounts (-want +got):\n%s", p.Kind, diff)
	}
}
