// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/quorum"
)

func TestAbsent(t *testing.T) {
	joined := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	node := func(uid types.UID) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid, CreationTimestamp: metav1.NewTime(joined)}}
	}
	named := func(name string, owner types.UID, created time.Time) corev1.Pod {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(created)},
			Spec:       corev1.PodSpec{NodeName: "a"},
		}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "a", UID: owner}}
		}
		return p
	}
	cluster := func(change func(*quorum.Observation)) []quorum.Observation {
		o := quorum.Observation{Confirmed: true, Voters: []uint64{2, 3}, Members: []quorum.Member{
			{Node: "b", MemberID: 2, Voter: true, Answers: true}, {Node: "c", MemberID: 3, Voter: true, Answers: true}, {Node: "d"},
		}}
		change(&o)
		return []quorum.Observation{o}
	}
	etcd := []string{"etcd"}
	for _, test := range []struct {
		name string
		d    Departed
		// doubt is part of the doubt, "" if the absence is proven.
		doubt string
	}{
		{name: "nothing is left", d: Departed{}},
		{name: "nothing is left of its static pods", d: Departed{Rollouts: etcd}},
		{name: "etcd does not have it", d: Departed{Rollouts: etcd, Clusters: cluster(func(*quorum.Observation) {})}},
		{name: "another node has its name", d: Departed{Rollouts: etcd, Successor: node("uid-new")}},
		{
			name: "the same machine has registered again", doubt: "may be that of the same machine",
			d: Departed{Rollouts: etcd, Successor: node("uid-new"), Returned: true},
		},
		{name: "the node exists", d: Departed{Successor: node("uid")}, doubt: "its node a exists"},
		{name: "which node it was is not known", d: Departed{NodeUID: "none"}, doubt: "it is not recorded which node it was on"},
		{
			name: "the Node object is gone, and its static pod is there",
			d:    Departed{Rollouts: etcd, Pods: []corev1.Pod{named("etcd-a", "uid", joined)}}, doubt: "the pod ns/etcd-a still names its node a",
		},
		{
			name:  "the Node object is gone, and its static pod does not say whose it is",
			d:     Departed{Rollouts: etcd, Pods: []corev1.Pod{named("etcd-a", "", joined)}},
			doubt: "the pod ns/etcd-a still names its node a",
		},
		{name: "another pod of the namespace", d: Departed{Rollouts: etcd, Pods: []corev1.Pod{named("web-1", "", joined)}}},
		{name: "any pod, without a rollout", d: Departed{Pods: []corev1.Pod{named("web-1", "", joined)}}, doubt: "the pod ns/web-1 still names its node a"},
		{
			name: "the static pod of its successor",
			d:    Departed{Rollouts: etcd, Successor: node("uid-new"), Pods: []corev1.Pod{named("etcd-a", "uid-new", joined)}},
		},
		{
			name:  "its static pod, while its successor has none yet",
			d:     Departed{Rollouts: etcd, Successor: node("uid-new"), Pods: []corev1.Pod{named("etcd-a", "uid", joined.Add(time.Hour))}},
			doubt: "the pod ns/etcd-a still names its node a",
		},
		{name: "a pod from after its successor has joined", d: Departed{Successor: node("uid-new"), Pods: []corev1.Pod{named("web-1", "", joined)}}},
		{
			name: "a pod from before its successor has joined", doubt: "the pod ns/web-1 still names its node a",
			d: Departed{Successor: node("uid-new"), Pods: []corev1.Pod{named("web-1", "", joined.Add(-time.Second))}},
		},
		{
			name: "etcd still has its member", doubt: "etcd lists a member 1 (a) that is on none of the nodes: remove it with etcdctl member remove 1",
			d: Departed{Rollouts: etcd, Clusters: cluster(func(o *quorum.Observation) {
				o.Members = append(o.Members, quorum.Member{MemberID: 1, Name: "a", Voter: true})
			})},
		},
		{
			name: "a member that could be its own does not answer", doubt: "the member 3 of etcd, which should be on node c, does not answer",
			d: Departed{Rollouts: etcd, Clusters: cluster(func(o *quorum.Observation) { o.Members[1].Answers = false })},
		},
		{
			name: "who the members are was not told by consensus", doubt: "no member tells by consensus",
			d: Departed{Rollouts: etcd, Clusters: cluster(func(o *quorum.Observation) { o.Confirmed = false })},
		},
		{
			name: "nobody has told who the members are", doubt: "no member tells by consensus",
			d: Departed{Rollouts: etcd, Clusters: []quorum.Observation{{}}},
		},
		{
			name: "the members contradict each other", doubt: "who belongs to its etcd cluster is not known: two clusters",
			d: Departed{Rollouts: etcd, Clusters: cluster(func(o *quorum.Observation) { o.Problem = "two clusters" })},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			switch test.d.Node = "a"; test.d.NodeUID {
			case "":
				test.d.NodeUID = "uid"
			case "none":
				test.d.NodeUID = ""
			}
			proof, doubt := Absent(&test.d)
			if (proof == "") != (test.doubt != "") || (doubt == "") != (test.doubt == "") || !strings.Contains(doubt, test.doubt) {
				t.Errorf("proof %q, doubt %q; want the doubt %q", proof, doubt, test.doubt)
			}
		})
	}
}
