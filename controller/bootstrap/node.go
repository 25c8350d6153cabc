// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/view/inventory"
)

// checkManifest makes the manifest for a node, so that what is wrong with the template is found before anything is written.
func (r *Revision) checkManifest(namespace string, node *inventory.Node) error {
	if len(node.Addresses) == 0 {
		return errors.New("it has no InternalIP")
	}
	manifest, err := revision.Manifest(r.Content.PodTemplate, revision.Values{
		Revision: first, NodeName: node.Name, NodeIP: node.Addresses[0], RestartHash: r.Content.RestartHash(),
		Directory: path.Join(r.Rollout.Class.ResourceDirectory, revision.DirectoryName(r.Rollout.Config.Name, first)),
		Permitted: &r.Rollout.Class.Pod,
	})
	if err != nil {
		return err
	}
	pod, err := revision.ParsePod(manifest)
	if err != nil {
		return err
	}
	if pod.Name != r.Rollout.Config.Name || pod.Namespace != namespace {
		return fmt.Errorf("the pod of the template is %s/%s, want %s/%s", pod.Namespace, pod.Name, namespace, r.Rollout.Config.Name)
	}
	return nil
}

// contentFor a node has of the aggregate its own leaves only, and everything else whole.
func (r *Revision) contentFor(node *inventory.Node) revision.Content {
	out := r.Content
	out.Secrets = map[string]map[string][]byte{}
	var own []string
	for _, leaf := range r.Rollout.Leaves[node.Name] {
		cert, key := inventory.AggregateKeys(leaf)
		own = append(own, cert, key)
	}
	for name, values := range r.Content.Secrets {
		aggregate := r.Rollout.Aggregate != nil && name == r.Rollout.Aggregate.Secret.Name
		out.Secrets[name] = map[string][]byte{}
		for key, value := range values {
			if !aggregate || slices.Contains(own, key) {
				out.Secrets[name][key] = value
			}
		}
	}
	return out
}
