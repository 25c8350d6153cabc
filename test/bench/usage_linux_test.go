// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
	"time"
)

// TestUsageOfThisProcess reads the real files of /proc.
func TestUsageOfThisProcess(t *testing.T) {
	before, err := cpuSeconds(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		now, err := cpuSeconds(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			break
		}
	}
	after, err := cpuSeconds(os.Getpid())
	if err != nil || after <= before {
		t.Errorf("CPU time went from %v to %v (%v), want more", before, after, err)
	}
	m, err := memoryOf(os.Getpid())
	if err != nil || m.Now < 1 || m.Peak < m.Now {
		t.Errorf("memory is %+v (%v)", m, err)
	}
}
