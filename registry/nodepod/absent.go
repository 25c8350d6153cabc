// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/quorum"
)

// Departed is the input of Absent: facts about a node that may be gone, each from a live read.
type Departed struct {
	// Node is its name, NodeUID its UID.
	Node    string
	NodeUID types.UID
	// Successor is the node that has the same name now, nil if there is none.
	Successor *corev1.Node
	// Returned means that the successor may be the same machine, with its former processes.
	Returned bool
	// Rollouts are the names of the static pods of the rollouts in the namespace.
	Rollouts []string
	// Pods that name the node: in the namespace if there are Rollouts, in all namespaces otherwise.
	Pods []corev1.Pod
	// Clusters are the etcd clusters of the rollouts, as observed from all nodes except this one.
	Clusters []quorum.Observation
}

// Absent returns the proof that nothing runs any more on a departed node, or "" and in doubt what prevents the proof.
// A missing Node object is not enough, because it can be deleted at any time. The node's static pods (or all its
// pods, if there are no rollouts) and its etcd members, which only etcd knows, must be gone too.
func Absent(d *Departed) (proof, doubt string) {
	switch {
	case d.NodeUID == "":
		return "", "it is not recorded which node it was on"
	case d.Successor != nil && d.Successor.UID == d.NodeUID:
		return "", fmt.Sprintf("its node %s exists", d.Node)
	case d.Successor != nil && d.Returned:
		return "", fmt.Sprintf("its node %s exists with another UID (%s), which may be that of the same machine", d.Node, d.Successor.UID)
	}
	for i := range d.Pods {
		if pod := &d.Pods[i]; d.left(pod) {
			return "", fmt.Sprintf("the pod %s/%s still names its node %s", pod.Namespace, pod.Name, d.Node)
		}
	}
	for i := range d.Clusters {
		if doubt := unaccounted(&d.Clusters[i]); doubt != "" {
			return "", doubt
		}
	}
	parts := []string{fmt.Sprintf("Node %s with UID %s is gone", d.Node, d.NodeUID)}
	if len(d.Rollouts) > 0 {
		parts = append(parts, "so is its static pod")
	} else {
		parts = append(parts, "no pod names it")
	}
	if len(d.Clusters) > 0 {
		parts = append(parts, "and each member of etcd answers on another node")
	}
	return strings.Join(parts, ", "), ""
}

// left reports whether this node may have left a pod behind. Pods of its successor do not count.
func (d *Departed) left(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != d.Node || (len(d.Rollouts) > 0 && !slices.ContainsFunc(d.Rollouts, func(rollout string) bool {
		return pod.Name == PodName(rollout, d.Node)
	})) {
		return false
	}
	for _, owner := range pod.OwnerReferences {
		if owner.Kind == "Node" {
			return owner.UID == d.NodeUID
		}
	}
	return d.Successor == nil || pod.CreationTimestamp.Time.Before(d.Successor.CreationTimestamp.Time)
}

// unaccounted returns why a member of an etcd cluster could be on a node that was not asked. It returns "" if each
// member answers on one of the asked nodes.
func unaccounted(o *quorum.Observation) string {
	if o.Problem != "" {
		return "who belongs to its etcd cluster is not known: " + o.Problem
	}
	if !o.Confirmed || len(o.Voters) == 0 {
		return "who belongs to its etcd cluster is not known: no member tells by consensus"
	}
	for i := range o.Members {
		switch m := &o.Members[i]; {
		case m.MemberID == 0:
		case m.Node == "":
			return fmt.Sprintf("etcd lists a member %x (%s) that is on none of the nodes: remove it with etcdctl member remove %x", m.MemberID, m.Name, m.MemberID)
		case !m.Answers:
			return fmt.Sprintf("the member %x of etcd, which should be on node %s, does not answer: it could be any", m.MemberID, m.Node)
		}
	}
	return ""
}
