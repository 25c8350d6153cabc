// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"math"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// scrapes are those of a series, one after the other.
type scrapes struct {
	series *series
	first  time.Duration
	count  int
}

var _ storage.Samples = scrapes{}

// scrapes of a series from one moment to another, and for a moment after its address is gone.
func (s *series) scrapes(from, to time.Duration) scrapes {
	from, to = max(from, s.known.from-scrapeInterval), min(to, s.known.to+2*scrapeInterval)
	all := scrapes{series: s, first: from.Truncate(scrapeInterval) - scrapeInterval + s.target.offset()}
	for all.first < from {
		all.first += scrapeInterval
	}
	if to >= all.first {
		all.count = 1 + int((to-all.first)/scrapeInterval)
	}
	return all
}

// Get implements storage.Samples.
func (s scrapes) Get(i int) chunks.Sample {
	return sample{s.series, s.first + time.Duration(i)*scrapeInterval}
}

// Len implements storage.Samples.
func (s scrapes) Len() int { return s.count }

// sample is what a scrape finds of a series; that it finds none is a value, too.
type sample struct {
	series *series
	at     time.Duration
}

// T implements chunks.Sample.
func (s sample) T() int64 { return Begin.Add(s.at).UnixMilli() }

// F implements chunks.Sample.
func (s sample) F() float64 {
	v, found := s.series.at(s.at)
	if !found {
		return math.Float64frombits(value.StaleNaN)
	}
	return v
}

// Type implements chunks.Sample.
func (sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

// Copy implements chunks.Sample.
func (s sample) Copy() chunks.Sample { return s }

// ST implements chunks.Sample; starts are not told.
func (sample) ST() int64 { return 0 }

// H implements chunks.Sample; it is no histogram.
func (sample) H() *histogram.Histogram { return nil }

// FH implements chunks.Sample; it is no histogram.
func (sample) FH() *histogram.FloatHistogram { return nil }
