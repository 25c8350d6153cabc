// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pipenet

import (
	"testing"
	"testing/synctest"
	"time"
)

// Test runs a test in a bubble whose clock starts at the present time, so that certificates made outside are
// valid.
func Test(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	begun := time.Now().Round(0)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(begun)) //nolint:forbidigo // the clock of the bubble
		test(t)
	})
}
