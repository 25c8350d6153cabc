// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"certrotation.dev/test/cluster"
)

const pollInterval = 100 * time.Millisecond

// KubeconfigOf returns a Config.Kubeconfig for a control plane of package cluster whose Config.Address is the
// Gateway.
func KubeconfigOf(c *cluster.Cluster) func(node string) (string, error) {
	return func(node string) (string, error) { return c.UserKubeconfig("system:node:"+node, "system:nodes") }
}

// Register gives all kubelets, present and later ones, another kubeconfig (see Config.Kubeconfig). It restarts
// running kubelets; containers keep running.
func (w *Network) Register(ctx context.Context, kubeconfig func(node string) (path string, err error)) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	w.mu.Lock()
	w.kubeconfig = kubeconfig
	w.mu.Unlock()
	return each(w.Nodes(), func(n *Node) error { return n.restartKubelet(ctx) })
}

func (n *Node) restartKubelet(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noKubelet || n.kubelet == nil || !n.kubelet.Running() {
		return nil
	}
	if err := n.kubelet.Stop(ctx); err != nil {
		return err
	}
	return n.startKubelet(ctx)
}

// Label waits until the node is registered and sets labels of its Node. client must have an administrator's rights,
// because a kubelet may not set labels such as node-role.kubernetes.io/master itself.
func (n *Node) Label(ctx context.Context, client kubernetes.Interface, labels map[string]string) error {
	if _, err := n.waitObject(ctx, client, func(*corev1.Node) bool { return true }); err != nil {
		return fmt.Errorf("label node %s: %w", n.name, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("label node %s: %w", n.name, err)
	}
	return nil
}

// WaitReady waits until the Node's condition Ready is true.
func (n *Node) WaitReady(ctx context.Context, client kubernetes.Interface) error {
	last, err := n.waitObject(ctx, client, func(node *corev1.Node) bool {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	})
	if err != nil {
		return fmt.Errorf("wait until node %s is Ready (conditions %v): %w", n.name, last.Status.Conditions, err)
	}
	return nil
}

// waitObject returns the Node once it is as wanted. With an error it returns the last one seen.
func (n *Node) waitObject(ctx context.Context, client kubernetes.Interface, wanted func(*corev1.Node) bool) (*corev1.Node, error) {
	last := &corev1.Node{}
	var lastErr error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		var node *corev1.Node
		if node, lastErr = client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{}); lastErr == nil {
			last = node
		}
		return lastErr == nil && wanted(last), nil
	})
	if err != nil && lastErr != nil {
		err = fmt.Errorf("%w (last answer: %w)", err, lastErr)
	}
	return last, err
}
