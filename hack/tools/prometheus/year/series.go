// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"math"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// series of one process after the other at one address.
type series struct {
	labels labels.Labels
	target *target
	// known is when service discovery has the address.
	known interval
	value reading
}

// reading of a series in the life of a process, at a moment of that; false if the process does not have the series then.
type reading func(at time.Duration, l life) (float64, bool)

// at is what a scrape at a moment finds.
func (s *series) at(at time.Duration) (float64, bool) {
	l, alive := s.target.alive(at)
	if !alive || !s.known.contains(at) || !s.target.scraped(at) {
		return 0, false
	}
	return s.value(at, l)
}

// add has a target show a series. Labels are names and values in turn.
func (y *Year) add(t *target, name string, v reading, pairs ...string) {
	for instance, known := range t.instances() {
		all := append([]string{labels.MetricName, name, "instance", instance, "job", "certrotation-" + t.job}, pairs...)
		s := &series{labels: labels.FromStrings(all...), target: t, known: known, value: v}
		y.series[name] = append(y.series[name], s)
	}
}

// always is a value that does not change.
func always(v float64) reading { return func(time.Duration, life) (float64, bool) { return v, true } }

// rate is a counter of what happens so often in a second, all the time.
func rate(perSecond float64) reading {
	return func(at time.Duration, l life) (float64, bool) {
		return math.Floor(perSecond * (at - l.from).Seconds()), true
	}
}

// latencies are the upper bounds of a histogram's buckets, and the part of all observations that each has.
type latencies struct {
	bounds []float64
	parts  []float64
	// begin are observations of the first seconds of a process, at most of slowest each.
	begin, slowest float64
}

// spread has half of the observations at most at the middle, nearly all at twice of that, and all at most at the worst.
func spread(bounds []float64, middle, worst float64) latencies {
	l := latencies{bounds: bounds}
	for _, bound := range bounds {
		part := 1 - math.Exp2(-math.Pow(bound/middle, 2))
		if bound >= worst {
			part = 1
		}
		l.parts = append(l.parts, part)
	}
	return l
}

// exponential bounds, as a program names them.
func exponential(first, factor float64, count int) []float64 {
	bounds := make([]float64, count)
	for i := range bounds {
		bounds[i] = first * math.Pow(factor, float64(i))
	}
	return bounds
}

// addHistogram has a target show a histogram of so many observations.
func (y *Year) addHistogram(t *target, name string, of latencies, count reading, pairs ...string) {
	for i, bound := range append(of.bounds[:len(of.bounds):len(of.bounds)], math.Inf(1)) {
		part := 1.0
		if i < len(of.parts) {
			part = of.parts[i]
		}
		le := strconv.FormatFloat(bound, 'g', -1, 64)
		y.add(t, name+"_bucket", func(at time.Duration, l life) (float64, bool) {
			n, ok := count(at, l)
			n = math.Floor(n * part)
			if bound >= of.slowest {
				n += of.begun(at, l)
			}
			return n, ok
		}, append([]string{"le", le}, pairs...)...)
	}
	y.add(t, name+"_count", func(at time.Duration, l life) (float64, bool) {
		n, ok := count(at, l)
		return n + of.begun(at, l), ok
	}, pairs...)
	y.add(t, name+"_sum", func(at time.Duration, l life) (float64, bool) {
		n, ok := count(at, l)
		return n*of.bounds[len(of.bounds)/2] + of.begun(at, l)*of.slowest, ok
	}, pairs...)
}

// begun are the observations of a process since it began that are of its beginning.
func (l latencies) begun(at time.Duration, now life) float64 {
	const beginning = time.Minute
	return math.Floor(l.begin * min(1, (at-now.from).Seconds()/beginning.Seconds()))
}
