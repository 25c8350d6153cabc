// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain trades memory for CPU time: collecting finished worlds took a third of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
