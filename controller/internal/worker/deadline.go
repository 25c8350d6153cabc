// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"time"
)

// Deadline bounds the work on one key. It is far above what the reads and writes of a large namespace take. It limits
// the cost of a tenant whose servers, or whose API server, do not answer.
const Deadline = 5 * time.Minute

// Within runs do with a ctx that ends after a deadline. If do fails because of the deadline, and ctx itself has not
// ended, the error says what ran out of time.
func Within(ctx context.Context, deadline time.Duration, what string, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	err := do(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: not over after %s: %w", what, deadline, err)
	}
	return err
}
