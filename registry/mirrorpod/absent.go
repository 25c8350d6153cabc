// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package mirrorpod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/quorum"
)

// Departed are what Absent needs to know of a node that may be gone, each by a live read.
type Departed struct {
	// Node is its name, NodeUID its UID.
	Node    string
	NodeUID types.UID
	// Successor is the node that has its name now, nil if there is none.
	Successor *corev1.Node
	// Returned says that the successor may be the same machine, with what runs on it.
	Returned bool
	// Rollouts are the names of the static pods that the namespace has.
	Rollouts []string
	// Pods that name the node: those of the namespace where there are Rollouts, those of all namespaces otherwise.
	Pods []corev1.Pod
	// Clusters are the etcd clusters of the rollouts, as asked on all nodes but this one.
	Clusters []quorum.Observation
}

// Absent returns the proof that nothing runs any more on a node that has gone, "" if there is none; then doubt says what
// is in its way. The node, its static pods (any pod, where there are none) and its members of etcd clusters have to be gone:
// a Node object is deleted by anybody at any time, and etcd knows best who belongs to it.
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

// left says whether a pod may be one that this node has left behind. What belongs to its successor is not.
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

// unaccounted says why a member of an etcd cluster could be one of a node that was not asked, "" if each answers on one of
// those that were.
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
