// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"path"
	"slices"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/view/inventory"
)

// manifest is that of revision 1 on a node.
func (r *Revision) manifest(node *inventory.Node) ([]byte, error) {
	if len(node.Addresses) == 0 {
		return nil, fmt.Errorf("it has no InternalIP")
	}
	return revision.Manifest(r.Content.PodTemplate, revision.Values{
		Revision: first, NodeName: node.Name, NodeIP: node.Addresses[0], RestartHash: r.Content.RestartHash(),
		Directory: path.Join(r.Rollout.Config.ResourceDirectory, revision.DirectoryName(r.Rollout.Config.Name, first)),
	})
}

// files are those of revision 1 on a node, by their path within its generation. Of the aggregate a node gets its own leaves
// only, of any other Secret everything.
func (r *Revision) files(node *inventory.Node) map[string][]byte {
	out := map[string][]byte{}
	for name, values := range r.Content.ConfigMaps {
		for key, value := range values {
			out[path.Join("configmaps", name, key)] = value
		}
	}
	own := r.ownKeys(node)
	for name, values := range r.Content.Secrets {
		aggregate := r.Rollout.Aggregate != nil && name == r.Rollout.Aggregate.Secret.Name
		for key, value := range values {
			if !aggregate || slices.Contains(own, key) {
				out[path.Join("secrets", name, key)] = value
			}
		}
	}
	return out
}

func (r *Revision) ownKeys(node *inventory.Node) []string {
	var out []string
	for _, leaf := range r.Rollout.Leaves[node.Name] {
		cert, key := inventory.AggregateKeys(leaf)
		out = append(out, cert, key)
	}
	return out
}
