// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/rollout/generation"
)

// Run installs the revision and reports the outcome.
func (o *InstallerOptions) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithValues("revision", o.Revision, "node", o.NodeName)
	ctx, cancel := context.WithTimeoutCause(klog.NewContext(ctx, logger), o.Timeout, fmt.Errorf("%w: --timeout is %s", errTimeout, o.Timeout))
	defer cancel()
	logger.Info("Installing", "rollout", o.Name, "restartHash", o.RestartHash, "contentHash", o.ContentHash)
	result, err := o.install(ctx)
	message := outcome{Revision: o.Revision}
	if err == nil {
		message.Changed, message.Restart = &result.Changed, &result.Restart
		logger.Info("Installed", "changed", result.Changed, "restart", result.Restart, "directory", result.Directory)
	} else {
		message.Reason, message.Error = reasonOf(err), err.Error()
	}
	return errors.Join(err, message.write(o.TerminationLog))
}

func (o *InstallerOptions) install(ctx context.Context) (result generation.Result, err error) {
	names := make([]string, 0, len(o.Companions))
	for _, c := range o.Companions {
		names = append(names, c.Name)
	}
	content, err := readSource(o.SourceDirectory, o.PodConfigMap, o.PodKey, names)
	if err != nil {
		return result, err
	}
	permitted, err := o.companions()
	if err != nil {
		return result, err
	}
	content.Reloaded = sets.New(o.ReloadedSecrets...)
	for _, name := range o.ReloadedSecrets {
		if len(content.Secrets[name]) == 0 {
			return result, fmt.Errorf("%w: Secret %s has no key for this node in %s", generation.ErrContent, name, o.SourceDirectory)
		}
	}
	if hash := content.ContentHash(); hash != o.NodeContentHash {
		return result, fmt.Errorf("%w: what is mounted has the hash %s, want %s: the copies of revision %d were changed or replaced",
			generation.ErrContent, hash, o.NodeContentHash, o.Revision)
	}
	node, err := generation.Create(o.Layout)
	if err != nil {
		return result, err
	}
	return node.Install(ctx, generation.Request{
		Content: content, Revision: o.Revision, ContentHash: o.ContentHash, RestartHash: o.RestartHash,
		NodeName: o.NodeName, NodeIP: o.NodeIP, Permitted: &o.Permitted, Companions: permitted, Now: o.Clock.Now(),
	})
}
