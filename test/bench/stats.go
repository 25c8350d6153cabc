// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// quantile interpolates linearly between neighbours. The samples may have any order. It is NaN without samples.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (sorted[above]-sorted[below])*(at-float64(below))
}

func median(samples []float64) float64 { return quantile(samples, 0.5) }

func spread(samples []float64) float64 { return quantile(samples, 0.75) - quantile(samples, 0.25) }

// number formats a figure with about three significant digits. The rounding error of a difference of equal floats
// counts as zero.
func number(x float64) string {
	switch abs := math.Abs(x); {
	case math.IsNaN(x):
		return "-"
	case abs >= 1_000_000:
		return fmt.Sprintf("%.3g", x)
	case abs >= 100:
		return fmt.Sprintf("%.0f", x)
	case abs >= 10:
		return fmt.Sprintf("%.1f", x)
	case abs >= 0.1 || abs < 1e-9:
		return fmt.Sprintf("%.2f", x)
	default:
		return fmt.Sprintf("%.2g", x)
	}
}

// withSpread is the median of samples with their interquartile range in parentheses.
func withSpread(samples []float64) string {
	if len(samples) < 2 {
		return number(median(samples))
	}
	return fmt.Sprintf("%s (%s)", number(median(samples)), number(spread(samples)))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
