// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/view/inventory"
)

// facts reads from the API server what determines the revision that a node runs.
func (c *Collector) facts(ctx context.Context, s *subject, rollout *inventory.Rollout) (nodepod.Facts, error) {
	f := nodepod.Facts{Rollout: rollout.Config.Name, Companions: rollout.Config.Companions, Node: s.target.member}
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, f.Node).String(),
	})
	if err != nil {
		return f, fmt.Errorf("list node %s: %w", f.Node, err)
	}
	for i := range nodes.Items {
		if nodes.Items[i].Name == f.Node {
			f.NodeUID = nodes.Items[i].UID
		}
	}
	if f.NodeUID == "" {
		return f, nil
	}
	pods, err := c.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", f.Node).String(),
	})
	if err != nil {
		return f, fmt.Errorf("list pods of namespace %s on node %s: %w", s.namespace, f.Node, err)
	}
	statuses, err := c.client.CoreV1().ConfigMaps(s.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: nodepod.LabelRollout + "=" + f.Rollout,
	})
	if err != nil {
		return f, fmt.Errorf("list revisions of rollout %s in namespace %s: %w", f.Rollout, s.namespace, err)
	}
	f.Pods, f.Statuses = pods.Items, statuses.Items
	return f, nil
}

// content reads the copies of a revision, including keys, because the hash covers everything. Callers must not keep
// them after the observation. A missing copy is returned as a failure of the revision, not as an error.
func (c *Collector) content(
	ctx context.Context, namespace string, cfg *configv1alpha1.StaticPodRollout, number int,
) (content nodepod.Content, failure string, err error) {
	gone := func(err error, kind, name string) (string, error) {
		if apierrors.IsNotFound(err) {
			return fmt.Sprintf("%s/%s of the revision that runs does not exist any more: what runs is known again with the next revision", kind, name), nil
		}
		return "", fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
	}
	content = nodepod.Content{
		ConfigMaps: map[string]map[string][]byte{}, Secrets: map[string]map[string][]byte{},
		Reloaded: sets.New(cfg.ReloadedSecretNames...),
	}
	template, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, nodepod.CopyName(cfg.PodConfigMapName, number), metav1.GetOptions{})
	if err != nil {
		failure, err = gone(err, "ConfigMap", nodepod.CopyName(cfg.PodConfigMapName, number))
		return content, failure, err
	}
	content.ConfigMaps[cfg.PodConfigMapName] = values(template)
	if missing := content.TakeTemplates(cfg.PodConfigMapName, configv1alpha1.PodKey, cfg.Companions); len(missing) > 0 {
		return content, fmt.Sprintf("ConfigMap/%s of the revision that runs has no key %s: the next revision brings that",
			nodepod.CopyName(cfg.PodConfigMapName, number), strings.Join(missing, ", ")), nil
	}
	for _, name := range cfg.ConfigMapNames {
		if name == cfg.PodConfigMapName {
			continue
		}
		copied, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, nodepod.CopyName(name, number), metav1.GetOptions{})
		if err != nil {
			failure, err = gone(err, "ConfigMap", nodepod.CopyName(name, number))
			return content, failure, err
		}
		content.ConfigMaps[name] = values(copied)
	}
	for _, name := range cfg.SecretNames {
		copied, err := c.client.CoreV1().Secrets(namespace).Get(ctx, nodepod.CopyName(name, number), metav1.GetOptions{})
		if err != nil {
			failure, err = gone(err, "Secret", nodepod.CopyName(name, number))
			return content, failure, err
		}
		content.Secrets[name] = copied.Data
	}
	return content, "", nil
}

func values(configMap *corev1.ConfigMap) map[string][]byte {
	out := make(map[string][]byte, len(configMap.Data)+len(configMap.BinaryData))
	for key, value := range configMap.Data {
		out[key] = []byte(value)
	}
	maps.Copy(out, configMap.BinaryData)
	return out
}
