// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
)

// prepareNode creates the Secret with the node's own pairs of the aggregate, the only one with pairs that its
// installer refers to. It returns the ContentHash of what the node sees, which the installer compares. It verifies
// the copies first, so that a replaced copy reaches no node.
//
// It runs together with the installer, so a node that joins later gets its own Secret.
func (l *look) prepareNode(ctx context.Context, node *rollout.Node, r *rollout.Revision) (hash string, err error) {
	copies, problem, err := l.readObjects(ctx, func(name string) string { return nodepod.CopyName(name, r.Number) })
	if err != nil {
		return "", err
	}
	if problem != "" {
		return "", apply.ErrStale
	}
	recorded := nodepod.Revision{Number: r.Number, ContentHash: r.ContentHash, RestartHash: r.RestartHash}
	if failure := nodepod.Prove(recorded, copies.content); failure != "" {
		return "", errors.New(failure)
	}
	aggregate := l.aggregateSecret()
	if aggregate == "" {
		return copies.content.ContentHash(), nil
	}
	keys := pairKeys(l.rollout.Leaves[node.Name])
	own := copies.content.Only(aggregate, keys)
	if len(keys) == 0 || len(own.Secrets[aggregate]) != len(keys) {
		return "", apply.ErrStale
	}
	status, exists, err := l.configMaps().Get(ctx, nodepod.StatusName(r.Number))
	if err != nil {
		return "", fmt.Errorf("read configmap %s: %w", nodepod.StatusName(r.Number), err)
	}
	if !exists {
		return "", apply.ErrStale
	}
	meta := l.copyMeta(status, aggregate, r.Number)
	meta.Name = nodepod.NodeCopyName(aggregate, r.Number, node.Name)
	meta.Labels = l.nodeCopyLabels(r.Number)
	return own.ContentHash(), l.copySecret(ctx, status, meta, own.Secrets[aggregate])
}

// nodeCopyLabels select the copies of all nodes, including nodes that are gone.
func (l *look) nodeCopyLabels(number int) map[string]string {
	return map[string]string{nodepod.LabelRollout: l.name, nodepod.LabelRevision: strconv.Itoa(number)}
}

func (l *look) deleteNodeCopies(ctx context.Context, number int) error {
	selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: l.nodeCopyLabels(number)})
	list, err := l.client.CoreV1().Secrets(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("list the copies of nodes of revision %d: %w", number, err)
	}
	var errs []error
	for i := range list.Items {
		errs = append(errs, deleteCopy(ctx, l, l.secrets(), list.Items[i].Name, nodepod.StatusName(number)))
	}
	return errors.Join(errs...)
}

// unfitSecret returns why a Secret must not reach all nodes, "" if it may.
func (l *look) unfitSecret(secret *corev1.Secret) string {
	if secret.Labels[nodepod.LabelRollout] != "" || l.ownedByRevision(secret) {
		return fmt.Sprintf("secret/%s is a copy of a revision: name what it is a copy of", secret.Name)
	}
	for _, d := range l.known.Domains {
		if d.Signer.Name == secret.Name {
			return fmt.Sprintf("secret/%s is a signer, whose key belongs on no node: take it out of rollout.staticPod.secretNames", secret.Name)
		}
		for i := range d.Leaves {
			if leaf := &d.Leaves[i]; leaf.Name == secret.Name && leaf.Template != leaf.Name {
				return fmt.Sprintf("secret/%s is the leaf of one node, and must not get to the others: have the aggregate bring it, and take it out of "+
					"rollout.staticPod.secretNames", secret.Name)
			}
		}
	}
	return ""
}

func (l *look) ownedByRevision(secret *corev1.Secret) bool {
	for _, owner := range secret.OwnerReferences {
		if _, ok := nodepod.ParseStatusName(owner.Name); ok && owner.Kind == "ConfigMap" {
			return true
		}
	}
	return false
}
