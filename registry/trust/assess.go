// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"time"
)

// Assess derives stage, blockers and next actions of a domain.
func Assess(d *Domain, now time.Time) *Assessment {
	return nil
}
