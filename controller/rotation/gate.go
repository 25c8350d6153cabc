// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// latestRevision is the number of the latest revision in the namespace of an aggregate that a rollout brings to its
// nodes, 0 if there is none.
func latestRevision(s *inventory.Sources, n *inventory.Namespace, agg *trust.Aggregate) int {
	if s == nil || !slices.ContainsFunc(n.Rollouts, func(r *inventory.Rollout) bool { return r.Aggregate == agg }) {
		return 0
	}
	latest := 0
	for name := range s.ConfigMaps {
		if number, ok := revision.ParseStatusName(name); ok {
			latest = max(latest, number)
		}
	}
	return latest
}

// gateAnnotation is what cluster-etcd-operator would write with new bundles: the revision that does not have them yet. It
// signs leaves from the next one on. Nothing is decided by it here, and it is never lowered.
func gateAnnotation(live *corev1.ConfigMap, latest int) map[string]string {
	if latest == 0 {
		return nil
	}
	if recorded, err := strconv.Atoi(live.Annotations[trust.AnnotationRolloutRevision]); err == nil && recorded > latest {
		return nil
	}
	return map[string]string{trust.AnnotationRolloutRevision: strconv.Itoa(latest)}
}
