// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"slices"

	"certrotation.dev/registry/trust"
)

// confirm collects evidence anew and reads everything live, once for all actions of an assessment. It returns those
// that are still proposed on that, with the domain they are proposed for, or errStale if none is.
func (c *Controller) confirm(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) (*trust.Domain, []trust.Action, error) {
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
	assessed := *live
	assessed.Absences, assessed.Refusals = d.Absences, d.Refusals
	live, a, err := c.assessByClock(ctx, k, &assessed)
	if err != nil {
		return nil, nil, err
	}
	proposed := slices.DeleteFunc(a.Actions, func(is trust.Action) bool {
		return !slices.ContainsFunc(actions, func(was trust.Action) bool { return sameAction(&is, &was) })
	})
	if len(proposed) == 0 {
		return nil, nil, fmt.Errorf("not proposed on live reads: %w", errStale)
	}
	return live, proposed, nil
}

func sameAction(a, b *trust.Action) bool {
	return a.Kind == b.Kind && a.ObjectKind == b.ObjectKind && a.Object == b.Object && a.Authority == b.Authority
}
