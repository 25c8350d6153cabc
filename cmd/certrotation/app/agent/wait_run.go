// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

// Run waits for the named content, or for content that says it has replaced it. A mount only becomes newer, so the
// named content would no longer appear.
func (c *WaitConfig) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, errors.New("--timeout has passed"))
	defer cancel()
	logger.Info("Waiting for content", "directory", c.Directory, "content", c.Content, "timeout", c.Timeout)
	ticker := time.NewTicker(c.Interval)
	defer ticker.Stop()
	for told := ""; ; {
		found, err := c.read()
		switch {
		case err == nil && found.Reaches(c.Content):
			logger.Info("The content is there, or a later one", "directory", c.Directory, "content", c.Content, "found", found.Hash)
			return nil
		case err != nil && told != err.Error():
			told = err.Error()
			logger.Info("The directory cannot be read", "directory", c.Directory, "reason", told)
		case err == nil && told != found.Hash:
			told = found.Hash
			logger.Info("The directory has other content", "directory", c.Directory, "found", told)
		}
		select {
		case <-ctx.Done():
			return c.failure(context.Cause(ctx), found.Hash, err)
		case <-ticker.C:
		}
	}
}

func (c *WaitConfig) failure(cause error, found string, err error) error {
	if err != nil {
		return fmt.Errorf("wait for content %s in %s: %w; it cannot be read: %w; give the mountPath of a volume of this container", c.Content, c.Directory, cause, err)
	}
	return fmt.Errorf("wait for content %s in %s: %w; it has %s: either kubelet still shows an older version, and it comes with another attempt, "+
		"or the object has changed since the pod template was written, without saying what it has replaced; compare `kubectl certrotation content-hash` of the object with the template",
		c.Content, c.Directory, cause, found)
}
