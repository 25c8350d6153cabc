// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"cmp"
	"slices"
	"time"
)

// Begin of the year.
var Begin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

const (
	// Length of the year.
	Length = 365 * day
	day    = 24 * time.Hour
)

// when is a moment of the year, as the time since its begin.
func when(days int, hour time.Duration) time.Duration {
	return time.Duration(days)*day + hour*time.Hour
}

// Year is a year of series. Its fields do not change once it is told.
type Year struct {
	domains  []*domain
	rollout  *rollout
	targets  []*target
	leaders  []term
	counters *counters

	series map[string][]*series
}

// Healthy tells the year.
func Healthy() *Year {
	y := &Year{domains: domains(), series: map[string][]*series{}}
	y.rollout = rolloutOf(y.domain("etcd"))
	y.targets = targets()
	y.leaders = terms(y.controllers())
	y.counters = y.count()
	y.controllerSeries()
	y.serveSeries()
	y.processSeries()
	return y
}

func (y *Year) domain(name string) *domain {
	return y.domains[slices.IndexFunc(y.domains, func(d *domain) bool { return d.name == name })]
}

// Span is a part of the year.
type Span struct{ From, To time.Time }

// Rotations of a trust domain, in order.
func (y *Year) Rotations(domain string) []Span {
	var all []Span
	for _, r := range y.domain(domain).rotations {
		all = append(all, Span{Begin.Add(r.begin), Begin.Add(r.end())})
	}
	return all
}

// Busy are the parts of the year in which something happens, in order: from ten minutes before it begins until half an hour after
// its end, when any alert that begins with it would fire.
func (y *Year) Busy() []Span {
	const before, after = 10 * time.Minute, 30 * time.Minute
	var all []Span
	add := func(from, to time.Duration) {
		if to >= 0 && from < Length {
			all = append(all, Span{Begin.Add(max(from-before, 0)), Begin.Add(min(to+after, Length))})
		}
	}
	for _, d := range y.domains {
		for i := range d.rotations {
			add(d.rotations[i].begin, d.rotations[i].end())
		}
		for i := range d.certificates {
			for _, issued := range d.certificates[i].issues {
				if issued.at > 0 {
					add(issued.at, issued.at)
				}
			}
		}
	}
	for _, t := range y.targets {
		for i := range t.lives {
			add(t.lives[i].from, t.lives[i].from)
			add(t.lives[i].to, t.lives[i].to)
		}
	}
	for _, b := range blackouts {
		add(b.from, b.to)
	}
	return union(all)
}

// union joins spans that touch.
func union(all []Span) []Span {
	slices.SortFunc(all, func(a, b Span) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	var out []Span
	for _, s := range all {
		if last := len(out) - 1; last >= 0 && !s.From.After(out[last].To) {
			if s.To.After(out[last].To) {
				out[last].To = s.To
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
