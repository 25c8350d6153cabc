// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
)

// pending is a source that has to be listed.
type pending struct {
	what string
	done <-chan struct{}
	// ended is the life of what lists, nil if it is that of everything.
	ended    context.Context //nolint:containedctx // it is not that of a call
	refusals *refusals
}

// wait returns when the source is listed, is no longer needed, or when the API server has started or stopped refusing
// something. It fails when ctx or the inventory ends first.
func (p *pending) wait(ctx context.Context, turned <-chan struct{}) error {
	var (
		cause error
		ended <-chan struct{}
	)
	if p.ended != nil {
		ended = p.ended.Done()
	}
	select {
	case <-p.done:
		return nil
	case <-turned:
		return nil
	case <-ended:
		cause = context.Cause(p.ended) //nolint:contextcheck // it is the end of what lists that is told, not of the caller
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	if errors.Is(cause, errUnconfigured) || errors.Is(cause, ErrUnmanaged) {
		return nil
	}
	return fmt.Errorf("list %s: %w", p.what, cause)
}
