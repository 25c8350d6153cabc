// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// TestAbsencesOfPods: a pod still counts when the selector does not match it any more. Only this pod is read, by
// its name.
func TestAbsencesOfPods(t *testing.T) {
	running := corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ended := corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	pod := func(uid types.UID, phase corev1.PodPhase, status corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "web-a", UID: uid},
			Status:     corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{status}},
		}
	}
	terminating := pod("uid-a", corev1.PodRunning, running)
	terminating.DeletionTimestamp, terminating.Finalizers = &metav1.Time{}, []string{"example.com/hold"}
	elsewhere := pod("uid-a", corev1.PodRunning, running)
	elsewhere.Namespace = "elsewhere"
	// A node with the name of the pod must not matter.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "web-a", UID: "uid-a"}}
	for _, test := range []struct {
		name     string
		objects  []runtime.Object
		instance string
		refused  bool
		want     string
	}{
		{name: "it does not exist", want: "there is no pod web-a"},
		{name: "it does not exist, and a node has its name", objects: []runtime.Object{node}, want: "there is no pod web-a"},
		{name: "a pod of another namespace has its name", objects: []runtime.Object{elsewhere}, want: "there is no pod web-a"},
		{name: "another pod has its name", objects: []runtime.Object{pod("uid-b", corev1.PodRunning, running)}, want: "pod web-a has the UID uid-b now, and had uid-a"},
		{name: "its containers have ended", objects: []runtime.Object{pod("uid-a", corev1.PodSucceeded, ended)}, want: "all containers of pod web-a have ended"},
		{name: "it was evicted, and its node has not said that it has ended", objects: []runtime.Object{pod("uid-a", corev1.PodFailed, running)}},
		{name: "it runs", objects: []runtime.Object{pod("uid-a", corev1.PodRunning, running)}},
		{name: "it crashes, and is started again", objects: []runtime.Object{pod("uid-a", corev1.PodRunning, ended)}},
		{name: "it terminates", objects: []runtime.Object{terminating}},
		{name: "it was not started yet", objects: []runtime.Object{pod("uid-a", corev1.PodPending, corev1.ContainerStatus{Name: "web"})}},
		{name: "pods may not be read", refused: true},
		{name: "it is not known which pod it was", instance: "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := apifake.New(t, clock.RealClock{}, test.objects...)
			if test.refused {
				client.ReadFault = func(*apifake.Request) apifake.Fault { return apifake.Forbidden }
			}
			c := collectorWith(t, client, &Config{Inventory: &fixed{}})
			missing := trust.RosterMember{Party: "servers", Member: "web-a", Instance: "uid-a", Pod: true}
			if test.instance == "unknown" {
				missing.Instance = ""
			}
			want := map[string]string{}
			if test.want != "" {
				want[trust.AbsenceKey(&missing)] = test.want
			}
			got, err := c.Absences(t.Context(), &trust.Domain{Namespace: testNamespace, Name: "web"}, []trust.RosterMember{missing})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("proofs (-want +got):\n%s", diff)
			}
			for _, action := range client.Actions() {
				if action.GetVerb() != "get" || action.GetResource().Resource != "pods" || action.GetNamespace() != testNamespace {
					t.Errorf("asked to %s %s in namespace %q", action.GetVerb(), action.GetResource().Resource, action.GetNamespace())
				}
			}
		})
	}
}

// TestAbsenceOfANodeIsNotThatOfAPod: that no pod has the name of a node does not prove the node's absence.
func TestAbsenceOfANodeIsNotThatOfAPod(t *testing.T) {
	n := etcdNamespace(newAuthority(t, "ca@1"))
	client := apifake.New(t, clock.RealClock{}, theNode(nodeUID), frozen{number: 1, leaf: newLeaf(t, newAuthority(t, "ca@1"), "peer", pki.ServerAuth)}.pod(t))
	c := collectorWith(t, client, &Config{Inventory: &fixed{n: n}})
	got, err := c.Absences(t.Context(), n.Domains[0], []trust.RosterMember{{Party: "etcd", Member: nodeName, Instance: string(nodeUID)}})
	if err != nil || len(got) > 0 {
		t.Errorf("proofs %v, error %v", got, err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "get" && action.GetResource().Resource == "pods" {
			t.Error("a pod was asked for")
		}
	}
}
