// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"context"
	"fmt"
	"time"
)

// Deadline is how long a worker works on one key at most. It is far above what the reads and writes of a large namespace
// take, and it is what a tenant whose servers or whose API server are silent may cost.
const Deadline = 5 * time.Minute

// Within does something with a context that ends after a deadline, and says so if that, and not the end of ctx, is why it has
// failed: a reader is to see that time has run out, and of what, and not only that something was cancelled.
func Within(ctx context.Context, deadline time.Duration, what string, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	err := do(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: not over after %s: %w", what, deadline, err)
	}
	return err
}
