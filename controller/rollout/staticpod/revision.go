// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

// observeRevisions is library-go's RevisionController.
func (l *look) observeRevisions(ctx context.Context) error {
	list, err := l.client.CoreV1().ConfigMaps(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: nodepod.LabelRollout + "=" + l.name})
	if err != nil {
		return fmt.Errorf("list revisions: %w", err)
	}
	for i := range list.Items {
		if r, ok := l.revisionOf(&list.Items[i]); ok {
			l.state.Revisions = append(l.state.Revisions, r)
		}
	}
	slices.SortFunc(l.state.Revisions, func(x, y rollout.Revision) int { return x.Number - y.Number })
	return nil
}

func (l *look) revisionOf(status *corev1.ConfigMap) (rollout.Revision, bool) {
	said, ok := nodepod.ReadStatus(status)
	out := rollout.Revision{
		Number: said.Number, Ready: said.Ready, ContentHash: said.ContentHash, RestartHash: said.RestartHash,
		Created: status.CreationTimestamp.Time, Installed: map[string]string{},
	}
	for i := range l.state.Nodes {
		name := l.state.Nodes[i].Name
		if at := said.Installed(name); at != "" {
			out.Installed[name] = at
		}
	}
	return out, ok
}

// latest is the newest complete revision, nil if there is none.
func (l *look) latest() *rollout.Revision {
	for i := len(l.state.Revisions) - 1; i >= 0; i-- {
		if l.state.Revisions[i].Ready {
			return &l.state.Revisions[i]
		}
	}
	return nil
}

// observeCopies finds what the latest revision lacks. It reads only while some node does not have that revision, and
// only until the copies are complete: they are immutable.
func (l *look) observeCopies(ctx context.Context) error {
	latest := l.latest()
	if latest == nil || !slices.ContainsFunc(l.state.Nodes, func(n rollout.Node) bool { return latest.Installed[n.Name] != n.UID }) {
		return nil
	}
	keys, err := l.copiedKeys(ctx, latest)
	if err != nil || len(latest.Missing) > 0 {
		return err
	}
	latest.Lacks = map[string][]string{}
	for i := range l.state.Nodes {
		if lacks := l.lacks(l.state.Nodes[i].Name, keys); len(lacks) > 0 {
			latest.Lacks[l.state.Nodes[i].Name] = lacks
		}
	}
	return nil
}

// copiedKeys returns the data keys of the Secrets of a revision. It adds absent copies to r.Missing.
func (l *look) copiedKeys(ctx context.Context, r *rollout.Revision) (map[string]map[string]bool, error) {
	var keys map[string]map[string]bool
	l.memory.with(l.id(), func(m *remembered) {
		if m.copies == r.Number {
			keys = m.keys
		}
	})
	if keys != nil {
		return keys, nil
	}
	keys = map[string]map[string]bool{}
	for _, name := range l.configMapNames() {
		if _, err := l.client.CoreV1().ConfigMaps(l.namespace).Get(ctx, nodepod.CopyName(name, r.Number), metav1.GetOptions{}); err != nil {
			if err := missing(r, "configmaps", name, err); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range l.rollout.Config.SecretNames {
		secret, err := l.client.CoreV1().Secrets(l.namespace).Get(ctx, nodepod.CopyName(name, r.Number), metav1.GetOptions{})
		if err != nil {
			if err := missing(r, "secrets", name, err); err != nil {
				return nil, err
			}
			continue
		}
		keys[name] = map[string]bool{}
		for key := range secret.Data {
			keys[name][key] = true
		}
	}
	if len(r.Missing) == 0 {
		l.memory.with(l.id(), func(m *remembered) { m.copies, m.keys = r.Number, keys })
	}
	return keys, nil
}

// missing adds a copy that was not found to r.Missing, and returns any other error.
func missing(r *rollout.Revision, resource, name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the copy of %s %s of revision %d: %w", resource, name, r.Number, err)
	}
	r.Missing = append(r.Missing, resource+": "+nodepod.CopyName(name, r.Number))
	return nil
}

// lacks lists the keys of the node's leaves that the revision does not have.
func (l *look) lacks(node string, keys map[string]map[string]bool) []string {
	aggregate := l.aggregateSecret()
	if aggregate == "" {
		return nil
	}
	leaves := l.rollout.Leaves[node]
	if len(leaves) == 0 {
		return []string{"any leaf of the node: it is not known to the configuration yet"}
	}
	var out []string
	for _, leaf := range leaves {
		cert, key := inventory.AggregateKeys(leaf)
		for _, k := range []string{cert, key} {
			if !keys[aggregate][k] {
				out = append(out, "secret "+aggregate+" key "+k)
			}
		}
	}
	return out
}

// aggregateSecret is the name of the Secret with the leaves of all nodes, "" if it is not revisioned.
func (l *look) aggregateSecret() string {
	if l.rollout.Aggregate == nil || !slices.Contains(l.rollout.Config.SecretNames, l.rollout.Aggregate.Secret.Name) {
		return ""
	}
	return l.rollout.Aggregate.Secret.Name
}

func (l *look) configMapNames() []string {
	return append([]string{l.rollout.Config.PodConfigMapName}, l.rollout.Config.ConfigMapNames...)
}

// changed describes what differs from the latest revision, as far as the kinds of objects tell. Operators want to
// know whether it was the manifest, the trust or the leaves.
func changed(latest *rollout.Revision, content *nodepod.Content) []string {
	switch {
	case latest == nil:
		return nil
	case latest.RestartHash == content.RestartHash():
		return []string{"reloaded secrets have changed: " + strings.Join(slices.Sorted(maps.Keys(content.Reloaded)), ", ")}
	}
	return []string{"the manifest, a configmap, or a secret that is read at start has changed"}
}
