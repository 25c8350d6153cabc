// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/view/inventory"
)

// unusable says why no revision may be made of the sources, "" if one may. What is refused here never gets to a node: an
// empty bundle, a key that does not belong to its certificate, a manifest that the class, kubelet or the installer would refuse.
//
// It takes a while to find out, so that is done once for a content, the class and the nodes that it is for.
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

// badManifest makes the manifest as each node would get it. It also tells how long its containers may take to end.
func (l *look) badManifest(s *snapshot) string {
	cfg := l.rollout.Config
	if len(s.content.PodTemplate) == 0 {
		return fmt.Sprintf("configmap/%s has no key %s", cfg.PodConfigMapName, configv1alpha1.PodKey)
	}
	const number = 1 // stands for the one that it gets
	names := map[string]string{"node": "127.0.0.1"}
	for i := range l.state.Nodes {
		if n := &l.state.Nodes[i]; n.Address != "" {
			names[n.Name] = n.Address
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		manifest, err := revision.Manifest(s.content.PodTemplate, revision.Values{
			Revision: number, NodeName: name, NodeIP: names[name], RestartHash: s.content.RestartHash(),
			Directory: path.Join(l.rollout.Class.ResourceDirectory, revision.DirectoryName(l.name, number)),
			Permitted: &l.rollout.Class.Pod,
		})
		if err != nil {
			return fmt.Sprintf("configmap/%s, for node %s: %v", cfg.PodConfigMapName, name, err)
		}
		pod, err := revision.ParsePod(manifest)
		if err != nil {
			return fmt.Sprintf("configmap/%s, for node %s: %v", cfg.PodConfigMapName, name, err)
		}
		if pod.Name != l.name || pod.Namespace != l.namespace {
			return fmt.Sprintf("configmap/%s: the pod is %s/%s, want %s/%s", cfg.PodConfigMapName, pod.Namespace, pod.Name, l.namespace, l.name)
		}
		l.state.Limits.Missing = missingAfter(pod, len(l.state.Nodes))
	}
	return ""
}
