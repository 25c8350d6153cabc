// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"

	"certrotation.dev/registry/trust"
)

// confirm collects evidence anew and reads everything live. It returns the same action as it is proposed on that, with
// the domain it is proposed for, or errStale if it is not proposed any more.
func (c *Controller) confirm(ctx context.Context, k key, d *trust.Domain, action *trust.Action) (*trust.Domain, *trust.Action, error) {
	if c.evidence != nil {
		if err := c.evidence.Refresh(ctx, d); err != nil {
			return nil, nil, fmt.Errorf("collect evidence: %w", err)
		}
	}
	live, err := c.liveDomain(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	if live == nil {
		return nil, nil, errStale
	}
	proposed := c.assess(live, c.clock.Now()).Actions
	for i := range proposed {
		if sameAction(&proposed[i], action) {
			return live, &proposed[i], nil
		}
	}
	return nil, nil, fmt.Errorf("not proposed on live reads: %w", errStale)
}

func sameAction(a, b *trust.Action) bool {
	return a.Kind == b.Kind && a.ObjectKind == b.ObjectKind && a.Object == b.Object && a.Authority == b.Authority
}
