// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/view/inventory"
)

// Result is everything that the first nodes and the first API server need.
type Result struct {
	// Manifests are all objects as YAML by file name, to be created in the order of the names.
	Manifests map[string][]byte
	// TLS are the bundles, and the pairs that no rollout brings to a node, by file name.
	TLS map[string][]byte
	// Nodes are the contents of the nodes' disks, ordered by node name.
	Nodes []Node
}

// Node is what one rollout writes to the disk of one node.
type Node struct {
	Name, Address string
	// Rollout is the name of the static pod. The directories come from its StaticPodClass.
	Rollout                              string
	Revision                             int
	ResourceDirectory, ManifestDirectory string
	// ManifestFile is the name of the manifest. Permitted is what the StaticPodClass permits the pod.
	ManifestFile string
	Permitted    *configv1alpha1.PermittedPod
	// Companions are the other static pods of the revision.
	Companions []configv1alpha1.PermittedCompanion
	// Hashes of the whole revision, which includes content for other nodes.
	ContentHash, RestartHash string
	// Content for this node.
	Content nodepod.Content
}

// Render makes the result of an input, at now.
func Render(ctx context.Context, in *Input, now time.Time) (*Result, error) {
	api, err := NewAPI(now, in.known...)
	if err != nil {
		return nil, err
	}
	out := &Result{TLS: map[string][]byte{}}
	rollouts := 0
	for _, name := range in.namespaces() {
		if api.Namespace(name) == nil {
			continue
		}
		if err := Settle(ctx, api, name); err != nil {
			return nil, err
		}
		namespace := api.Namespace(name)
		rollouts += len(namespace.Rollouts)
		if err := out.addRollouts(api, namespace); err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
		if err := out.addTLS(api, namespace); err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	if rollouts == 0 {
		return nil, errors.New("there is no configuration with a rollout: add a RotationConfiguration whose rollout says which static pods to render")
	}
	if out.Manifests, err = manifests(in, api); err != nil {
		return nil, err
	}
	return out, nil
}

// addRollouts cuts the first revision of each rollout, for each of its nodes.
func (out *Result) addRollouts(api *API, namespace *inventory.Namespace) error {
	if len(namespace.Rollouts) > 1 {
		return fmt.Errorf("it has %d rollouts, whose revisions would have the same names; one is supported", len(namespace.Rollouts))
	}
	for _, rollout := range namespace.Rollouts {
		if len(rollout.Nodes) == 0 {
			return fmt.Errorf("rollout %s: none of the nodes has the labels of its nodeSelector", rollout.Config.Name)
		}
		if rollout.Class == nil {
			return fmt.Errorf("rollout %s: %s: %s", rollout.Config.Name, rollout.ClassProblem.Object, rollout.ClassProblem.Message)
		}
		cutRevision, err := cut(api, namespace.Name, rollout)
		if err != nil {
			return err
		}
		for _, node := range rollout.Nodes {
			out.Nodes = append(out.Nodes, Node{
				Name: node.Name, Address: node.Addresses[0], Rollout: rollout.Config.Name, Revision: first,
				ResourceDirectory: rollout.Class.ResourceDirectory, ManifestDirectory: rollout.Class.ManifestDirectory,
				ManifestFile: rollout.Class.ManifestFile, Permitted: &rollout.Class.Pod, Companions: cutRevision.companions(),
				ContentHash: cutRevision.Content.ContentHash(), RestartHash: cutRevision.Content.RestartHash(),
				Content: cutRevision.contentFor(node),
			})
		}
	}
	return nil
}

// addTLS adds the bundles and pairs for processes other than the nodes' static pods, such as the first
// kube-apiserver.
func (out *Result) addTLS(api *API, namespace *inventory.Namespace) error {
	for _, domain := range namespace.Domains {
		configMap, err := get[*corev1.ConfigMap](api, namespace.Name, domain.Bundle.Name)
		if err != nil {
			return err
		}
		out.TLS[domain.Bundle.Name+".crt"] = []byte(configMap.Data[inventory.BundleKey])
		for i := range domain.Leaves {
			name := domain.Leaves[i].Name
			if ofNode(namespace, name) {
				continue
			}
			secret, err := get[*corev1.Secret](api, namespace.Name, name)
			if err != nil {
				return err
			}
			out.TLS[name+".crt"], out.TLS[name+".key"] = secret.Data[inventory.ActiveCertKey], secret.Data[inventory.ActiveKeyKey]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out.TLS)) {
		if len(out.TLS[name]) == 0 {
			return fmt.Errorf("%s is empty", name)
		}
	}
	return nil
}

// ofNode reports whether a rollout brings a leaf to its node.
func ofNode(namespace *inventory.Namespace, leaf string) bool {
	for _, rollout := range namespace.Rollouts {
		for _, leaves := range rollout.Leaves {
			if slices.Contains(leaves, leaf) {
				return true
			}
		}
	}
	return false
}
