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

// observeNodes is library-go's NodeController. It reads live, so a recreated node is never taken for the former one
// of the same name.
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

// unfit returns why a node is left out, "" if it is not. No leaf of the aggregate is for such a node, so it may see
// nothing of that Secret. This holds for a moment after a node joins.
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

// readiness reports whether a node is ready, and why not. The text stays the same while the cause lasts.
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

// believed returns the first InternalIP of a node that the configuration accepts as its own. It is "" for a moment,
// while the cache lacks the node or knows it by another address.
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
