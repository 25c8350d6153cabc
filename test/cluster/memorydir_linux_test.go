// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "testing"

func TestAvailableIn(t *testing.T) {
	for _, tc := range []struct {
		name, info string
		want       int
	}{
		{"as Linux writes it", "MemTotal:       24684084 kB\nMemFree:          512000 kB\nMemAvailable:   23057400 kB\nBuffers: 1 kB\n", 23057400 << 10},
		{"a kernel that does not say", "MemTotal:       24684084 kB\nMemFree:          512000 kB\n", 0},
		{"no number", "MemAvailable: much kB\n", 0},
		{"empty", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := availableIn(tc.info); got != tc.want {
				t.Errorf("availableIn() = %d, want %d", got, tc.want)
			}
		})
	}
}
