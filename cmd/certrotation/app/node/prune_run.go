// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/rollout/generation"
)

// Run prunes, and logs the removed and the kept paths.
func (o *PruneOptions) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("--timeout of %s has passed", o.Timeout))
	defer cancel()
	logger.Info("Pruning", "rollout", o.Name, "maxEligibleRevision", o.MaxEligible, "protectedRevisions", sets.List(o.Protected))
	node, err := generation.Open(o.Layout)
	if err != nil {
		return err
	}
	pruned, err := node.Prune(ctx, o.Protected, o.MaxEligible)
	for _, name := range pruned.Removed {
		logger.Info("Removed", "path", name)
	}
	for _, kept := range pruned.Kept {
		logger.Info("Kept", "path", kept.Path, "reason", kept.Reason, "message", kept.Message)
	}
	if err != nil {
		return err
	}
	logger.Info("Pruned", "removed", len(pruned.Removed))
	return nil
}
