// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

// The NodeController of library-go: which nodes run the static pod. They are read live, so that one that was made anew
// under the same name is never taken for the one before.
func (l *look) observeNodes(ctx context.Context) error {
	selector, err := metav1.LabelSelectorAsSelector(&l.rollout.Config.NodeSelector)
	if err != nil {
		return fmt.Errorf("read the node selector: %w", err)
	}
	list, err := l.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range list.Items {
		node := nodeOf(&list.Items[i])
		node.Address = l.believed(&list.Items[i])
		node.Unfit = l.unfit(node.Name)
		for _, name := range l.rollout.Config.Companions {
			node.Companions = append(node.Companions, rollout.Companion{Name: name})
		}
		l.state.Nodes = append(l.state.Nodes, node)
	}
	slices.SortFunc(l.state.Nodes, func(x, y rollout.Node) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

// unfit says that none of the leaves in the aggregate is for the node: there is nothing of that Secret that it may see. A
// node that has just joined is so for a moment.
func (l *look) unfit(node string) string {
	secret := l.aggregateSecret()
	if secret == "" || len(l.rollout.Leaves[node]) > 0 {
		return ""
	}
	return fmt.Sprintf("no leaf in secret %s is for this node, and it must not see those of others: have the forEachNode of one of aggregate.leaves "+
		"select it, or rollout.staticPod.nodeSelector leave it out", secret)
}

func nodeOf(node *corev1.Node) rollout.Node {
	out := rollout.Node{Name: node.Name, UID: string(node.UID), Deleted: node.DeletionTimestamp != nil}
	out.Ready, out.NotReady = readiness(node)
	return out
}

// readiness of a node, and why it is not ready. The text holds nothing that changes while that goes on.
func readiness(node *corev1.Node) (ready bool, why string) {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			return true, ""
		}
		return false, strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
	}
	return false, "kubelet has not reported yet"
}

// believed is the first InternalIP of a node that the configuration believes to be its own. A node that the cache does not
// know yet, or knows by another address, has none for a moment.
func (l *look) believed(node *corev1.Node) string {
	at := slices.IndexFunc(l.rollout.Nodes, func(n *inventory.Node) bool { return n.UID == node.UID })
	if at < 0 {
		return ""
	}
	for _, address := range inventory.ParseNode(node).Addresses {
		if slices.Contains(l.rollout.Nodes[at].Addresses, address) {
			return address
		}
	}
	return ""
}

func uid(text string) types.UID { return types.UID(text) }
