// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/rollout"
)

// The InstallerController of library-go. runInstaller makes the pod that the decision asks for; that the pod is there
// already means that a look before this one has made it.
func (l *look) runInstaller(ctx context.Context, action *rollout.Action) error {
	node, r := l.node(action.Node, action.NodeUID), l.latest()
	if node == nil || r == nil || r.Number != action.Revision {
		return errStale
	}
	if err := l.ensureServiceAccount(ctx); err != nil {
		return err
	}
	hash, err := l.prepareNode(ctx, node, r)
	if err != nil {
		return err
	}
	_, err = l.client.CoreV1().Pods(l.namespace).Create(ctx, l.installerPod(node, r, action, hash), metav1.CreateOptions{FieldManager: FieldManager})
	l.metrics.wrote("create", "pods", err)
	if err != nil {
		return err
	}
	l.metrics.started(l.id(), action)
	return nil
}

// node returns the one of this look, nil if it is another one by now.
func (l *look) node(name, uid string) *rollout.Node {
	for i := range l.state.Nodes {
		if n := &l.state.Nodes[i]; n.Name == name && n.UID == uid {
			return n
		}
	}
	return nil
}

// deletePod deletes a pod of ours. It gets the time to end by itself, and stays visible until kubelet says that it has.
func (l *look) deletePod(ctx context.Context, name string) error {
	err := l.client.CoreV1().Pods(l.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	l.metrics.wrote("delete", "pods", err)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete pod %s: %w", name, err)
	}
	return nil
}

// markInstalled records the UID of a node on a revision.
func (l *look) markInstalled(ctx context.Context, action *rollout.Action) error {
	configMaps, name := l.client.CoreV1().ConfigMaps(l.namespace), revision.StatusName(action.Revision)
	live, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err != nil {
		return fmt.Errorf("read configmap %s: %w", name, err)
	}
	key := revision.InstalledAnnotation(action.Node)
	if live.Annotations[key] == action.NodeUID {
		return nil
	}
	if live.Annotations == nil {
		live.Annotations = map[string]string{}
	}
	live.Annotations[key] = action.NodeUID
	_, err = configMaps.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	l.metrics.wrote("update", "configmaps", err)
	return err
}
