// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/component-base/metrics"

	"certrotation.dev/registry/injection"
)

// mostTargets have their own series: those that expire first. Any number of objects may ask for a bundle.
const mostTargets = 256

// meters count writes, and collect the held targets at the time of a scrape.
type meters struct {
	metrics.BaseStableCollector

	memory *memory
	writes *metrics.CounterVec
	held   *metrics.Desc
	expiry *metrics.Desc
}

var _ metrics.StableCollector = (*meters)(nil)

func newMeters(m *memory) *meters {
	return &meters{
		memory: m,
		writes: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "certrotation", Name: "cabundle_writes_total", StabilityLevel: metrics.ALPHA,
			Help: "Write requests for CA bundles of webhook configurations, APIServices, CustomResourceDefinitions and ClusterTrustBundles, by resource and result (done, conflict, error).",
		}, []string{"resource", "result"}),
		held: metrics.NewDesc("certrotation_cabundle_targets_held",
			"Objects that ask for a CA bundle and do not follow it, and RotationConfigurations that name targets of a kind that is not served, as a number, by their kind.",
			[]string{"kind"}, nil, metrics.ALPHA, ""),
		expiry: metrics.NewDesc("certrotation_cabundle_expiration_timestamp_seconds",
			"When the last anchor of an object's CA bundle expires, in seconds since 1970; of several bundles the first to end. Of all objects the 256 that expire first.",
			[]string{"kind", "name"}, nil, metrics.ALPHA, ""),
	}
}

func (m *meters) register(r metrics.KubeRegistry) {
	r.MustRegister(m.writes)
	r.CustomMustRegister(m)
}

// DescribeWithStability implements metrics.StableCollector.
func (m *meters) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- m.held
	ch <- m.expiry
}

// CollectWithStability implements metrics.StableCollector.
func (m *meters) CollectWithStability(ch chan<- metrics.Metric) {
	for kind, count := range m.memory.held() {
		ch <- metrics.NewLazyConstMetric(m.held, metrics.GaugeValue, float64(count), kind)
	}
	for _, e := range m.memory.ends() {
		ch <- metrics.NewLazyConstMetric(m.expiry, metrics.GaugeValue, float64(e.at.Unix()), e.target.Kind, e.target.Name)
	}
}

func (m *meters) wrote(_, resource, result string) {
	m.writes.WithLabelValues(resource, result).Inc()
}

// end is when kube-apiserver, or a reader of a ClusterTrustBundle, stops accepting servers of a target.
type end struct {
	target target
	at     time.Time
}

// ends returns the ends of the targets that expire first, mostTargets at most.
func (m *memory) ends() []end {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []end
	for t, s := range m.states {
		if at := endOf(s.entries); !at.IsZero() {
			out = append(out, end{t, at})
		}
	}
	slices.SortFunc(out, func(x, y end) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.target.Kind, y.target.Kind), cmp.Compare(x.target.Name, y.target.Name))
	})
	return out[:min(len(out), mostTargets)]
}

// endOf returns when the first entry has no valid anchor left, zero if no entry has one.
func endOf(entries []injection.Entry) time.Time {
	var first time.Time
	for i := range entries {
		var last time.Time
		for _, anchor := range entries[i].Anchors {
			if anchor.NotAfter.After(last) {
				last = anchor.NotAfter
			}
		}
		if !last.IsZero() && (first.IsZero() || last.Before(first)) {
			first = last
		}
	}
	return first
}
