// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

var _ storage.Queryable = (*Year)(nil)

// Querier implements storage.Queryable.
func (y *Year) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{y, mint, maxt}, nil
}

// Series are the labels of all series, in order.
func (y *Year) Series() []labels.Labels {
	var all []labels.Labels
	for _, named := range y.series {
		for _, s := range named {
			all = append(all, s.labels)
		}
	}
	slices.SortFunc(all, labels.Compare)
	return all
}

// querier of a part of the year, in milliseconds since 1970.
type querier struct {
	year       *Year
	mint, maxt int64
}

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []*series
	for _, name := range q.names(matchers) {
		for _, s := range q.year.series[name] {
			if q.overlaps(s.known) && matches(s.labels, matchers) {
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	return &set{querier: q, all: found, at: -1}
}

// names of metrics that the matchers may be about: one, unless they do not ask for one.
func (q *querier) names(matchers []*labels.Matcher) []string {
	for _, m := range matchers {
		if m.Name == labels.MetricName && m.Type == labels.MatchEqual {
			return []string{m.Value}
		}
	}
	return slices.Sorted(maps.Keys(q.year.series))
}

// overlaps reports whether there may be samples of an address; the last of them says that it is gone.
func (q *querier) overlaps(known interval) bool {
	return moment(q.mint) <= known.to+2*scrapeInterval && known.from <= moment(q.maxt)
}

func moment(milliseconds int64) time.Duration { return time.UnixMilli(milliseconds).Sub(Begin) }

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(l.Get(m.Name)) })
}

// LabelValues implements storage.LabelQuerier.
func (q *querier) LabelValues(ctx context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	values := map[string]bool{}
	for found := q.Select(ctx, false, nil, matchers...); found.Next(); {
		if v := found.At().Labels().Get(name); v != "" {
			values[v] = true
		}
	}
	return slices.Sorted(maps.Keys(values)), nil, nil
}

// LabelNames implements storage.LabelQuerier.
func (q *querier) LabelNames(ctx context.Context, _ *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	names := map[string]bool{}
	for found := q.Select(ctx, false, nil, matchers...); found.Next(); {
		found.At().Labels().Range(func(l labels.Label) { names[l.Name] = true })
	}
	return slices.Sorted(maps.Keys(names)), nil, nil
}

// Close implements storage.Querier.
func (*querier) Close() error { return nil }

// set of series that were found.
type set struct {
	*querier

	all []*series
	at  int
}

// Next implements storage.SeriesSet.
func (s *set) Next() bool { s.at++; return s.at < len(s.all) }

// At implements storage.SeriesSet.
func (s *set) At() storage.Series {
	one := s.all[s.at]
	scrapes := one.scrapes(moment(s.mint), moment(s.maxt))
	return &storage.SeriesEntry{Lset: one.labels, SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator {
		return storage.NewListSeriesIterator(scrapes)
	}}
}

// Err implements storage.SeriesSet.
func (*set) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*set) Warnings() annotations.Annotations { return nil }
