// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Quorum is implemented by controller/etcdhealth.
type Quorum interface {
	Check(ctx context.Context, namespace, configuration string, q *configv1alpha1.Quorum, nodes []*inventory.Node) (quorum.Observation, error)
}

// Absences returns proofs, by trust.AbsenceKey, that members are gone. Callers pass members that count although the
// configuration no longer names them. It reads no cache that could support an absence, and a failed query is no
// proof. Members without a proof are left out.
func (c *Collector) Absences(ctx context.Context, d *trust.Domain, missing []trust.RosterMember) (map[string]string, error) {
	proofs := map[string]string{}
	for i := range missing {
		m := &missing[i]
		proof, doubt := c.absent(ctx, d, m)
		if err := ended(ctx); err != nil {
			return nil, fmt.Errorf("ask whether members of trust domain %s are gone: %w", d.Name, err)
		}
		if proof != "" {
			proofs[trust.AbsenceKey(m)] = proof
			continue
		}
		klog.FromContext(ctx).V(2).Info("A member that the configuration does not name is not proven to be gone",
			"party", m.Party, "member", m.Member, "doubt", doubt)
	}
	return proofs, nil
}

func (c *Collector) absent(ctx context.Context, d *trust.Domain, m *trust.RosterMember) (proof, doubt string) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	switch {
	case m.Kind.OfTargets():
		return c.absentTarget(ctx, m)
	case m.Instance == "":
		return "", "nothing tells it from another one of its name"
	case m.Pod:
		return c.absentPod(ctx, d.Namespace, m)
	}
	return c.absentNode(ctx, d, m)
}

// absentPod gets the pod of the member's name from the API server, not from a cache.
func (c *Collector) absentPod(ctx context.Context, namespace string, m *trust.RosterMember) (proof, doubt string) {
	pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, m.Member, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		pod = &corev1.Pod{}
	case err != nil:
		return "", fmt.Sprintf("get pod %s/%s: %v", namespace, m.Member, err)
	}
	life := inventory.ParsePod(pod).Life.Life()
	if proof = trust.AbsentPod(m, string(pod.UID), life); proof == "" {
		doubt = "the pod is there, and is " + string(life)
	}
	return proof, doubt
}

// absentNode checks a member that has the name of its node.
func (c *Collector) absentNode(ctx context.Context, d *trust.Domain, m *trust.RosterMember) (proof, doubt string) {
	departed := &nodepod.Departed{Node: m.Member, NodeUID: types.UID(m.Instance)}
	n := c.inventory.Namespace(d.Namespace)
	switch {
	case n == nil:
		return "", "nothing is known of its namespace"
	case len(n.Rollouts) == 0 && hadStaticPods(d):
		return "", "the rollout that has placed its static pod is not configured any more, so nothing tells whether the pod has stopped"
	}
	for _, r := range n.Rollouts {
		departed.Rollouts = append(departed.Rollouts, r.Config.StaticPods()...)
	}
	if err := c.readDeparted(ctx, d, m, departed); err != nil {
		return "", err.Error()
	}
	for _, r := range n.Rollouts {
		if r.Config.Quorum == nil {
			continue
		}
		cluster, err := c.askCluster(ctx, d.Namespace, r, departed.NodeUID)
		if err != nil {
			return "", err.Error()
		}
		departed.Clusters = append(departed.Clusters, cluster)
	}
	return nodepod.Absent(departed)
}

// hadStaticPods reports whether members of the domain are static pods. It uses the roster, because members that the
// configuration no longer names still count.
func hadStaticPods(d *trust.Domain) bool {
	return d.Roster != nil && slices.ContainsFunc(d.Roster.Members, func(m trust.RosterMember) bool { return m.Kind.PerNode() })
}

// readDeparted reads a node by name, and its pods, from the API server.
func (c *Collector) readDeparted(ctx context.Context, d *trust.Domain, m *trust.RosterMember, departed *nodepod.Departed) error {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, departed.Node).String(),
	})
	if err != nil {
		return fmt.Errorf("list node %s: %w", departed.Node, err)
	}
	if at := slices.IndexFunc(nodes.Items, func(n corev1.Node) bool { return n.Name == departed.Node }); at >= 0 {
		departed.Successor = &nodes.Items[at]
		departed.Returned = trust.Returned(d, m, string(departed.Successor.UID), inventory.ParseNode(departed.Successor).Addresses)
	}
	namespace := d.Namespace
	if len(departed.Rollouts) == 0 {
		namespace = metav1.NamespaceAll
	}
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", departed.Node).String(),
	})
	if err != nil {
		return fmt.Errorf("list pods of namespace %q on node %s: %w", namespace, departed.Node, err)
	}
	departed.Pods = pods.Items
	return nil
}

// askCluster asks the members of a rollout's etcd cluster on all of its nodes but one. If the cache lacks a node or
// has its old address, no answer accounts for its member.
func (c *Collector) askCluster(ctx context.Context, namespace string, r *inventory.Rollout, but types.UID) (quorum.Observation, error) {
	if c.quorum == nil {
		return quorum.Observation{}, fmt.Errorf("rollout %s has an etcd quorum, and no endpoint to ask about it", r.Config.Name)
	}
	nodes := slices.DeleteFunc(slices.Clone(r.Nodes), func(n *inventory.Node) bool { return n.UID == but })
	return c.quorum.Check(ctx, namespace, r.Configuration, r.Config.Quorum, nodes)
}
