// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// unusable returns why the sources must not become a revision, "" if they may. It keeps these from the nodes: an
// empty bundle, a mismatched key, or a manifest that the class, the kubelet or the installer would refuse.
//
// The check takes a while, so it runs once per content, class and set of nodes.
func (l *look) unusable(s *snapshot) (problem string) {
	var what strings.Builder
	fmt.Fprintf(&what, "%s %v", s.content.ContentHash(), *l.rollout.Class)
	for i := range l.state.Nodes {
		what.WriteString(" " + l.state.Nodes[i].Name + "=" + l.state.Nodes[i].Address)
	}
	known := false
	l.memory.with(l.id(), func(r *remembered) {
		if known = r.checked == what.String(); known {
			problem, l.state.Limits.Missing = r.problem, r.missing
		}
	})
	if known {
		return problem
	}
	problem = l.check(s)
	l.memory.with(l.id(), func(r *remembered) {
		r.checked, r.problem, r.missing = what.String(), problem, l.state.Limits.Missing
	})
	return problem
}

func (l *look) check(s *snapshot) string {
	if text := l.badManifest(s); text != "" {
		return text
	}
	agg := l.rollout.Aggregate
	if agg == nil {
		return ""
	}
	if bundles, ok := s.content.ConfigMaps[agg.ConfigMap.Name]; ok {
		for _, bundle := range agg.Bundles {
			if _, err := pki.ParseBundle(bundles[bundle.Key]); err != nil {
				return fmt.Sprintf("configmap/%s: key %s: %v", agg.ConfigMap.Name, bundle.Key, err)
			}
		}
	}
	if pairs, ok := s.content.Secrets[agg.Secret.Name]; ok {
		for _, leaf := range agg.Leaves {
			cert, key := inventory.AggregateKeys(leaf)
			if _, err := pki.ParsePair(pairs[cert], pairs[key]); err != nil {
				return fmt.Sprintf("secret/%s: leaf %s: %v", agg.Secret.Name, leaf, err)
			}
		}
	}
	return ""
}

// badManifest renders the manifests for each node and returns what is wrong with one. It also sets Limits.Missing
// from how long their containers may take to stop.
func (l *look) badManifest(s *snapshot) string {
	names := map[string]string{"node": "127.0.0.1"}
	for i := range l.state.Nodes {
		if n := &l.state.Nodes[i]; n.Address != "" {
			names[n.Name] = n.Address
		}
	}
	l.state.Limits.Missing = 0
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, pod := range l.rollout.Config.StaticPods() {
			made, err := l.manifest(s, pod, name, names[name])
			if err != nil {
				return fmt.Sprintf("configmap/%s, for node %s: %v", l.rollout.Config.PodConfigMapName, name, err)
			}
			if made.Name != pod || made.Namespace != l.namespace {
				return fmt.Sprintf("configmap/%s: the pod is %s/%s, want %s/%s", l.rollout.Config.PodConfigMapName, made.Namespace, made.Name, l.namespace, pod)
			}
			l.state.Limits.Missing = max(l.state.Limits.Missing, missingAfter(made, len(l.state.Nodes)))
		}
	}
	return ""
}

func (l *look) manifest(s *snapshot, pod, node, address string) (*corev1.Pod, error) {
	const number = 1 // stands for the real number
	template := s.content.PodTemplate
	if pod != l.name {
		template = s.content.Companions[pod]
	}
	manifest, err := nodepod.RenderManifest(template, nodepod.Values{
		Revision: number, NodeName: node, NodeIP: address, RestartHash: s.content.RestartHash(),
		Directory: path.Join(l.rollout.Class.ResourceDirectory, nodepod.DirectoryName(l.name, number)),
		Permitted: l.rollout.Class.Permitted(pod),
	})
	if err != nil {
		return nil, err
	}
	return nodepod.ParsePod(manifest)
}
