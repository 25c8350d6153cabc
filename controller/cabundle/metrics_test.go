// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/component-base/metrics"

	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
)

func TestEndOf(t *testing.T) {
	at := func(hours int) time.Time { return time.Unix(0, 0).Add(time.Duration(hours) * time.Hour) }
	entry := func(hours ...int) injection.Entry {
		var e injection.Entry
		for _, h := range hours {
			e.Anchors = append(e.Anchors, &pki.Certificate{NotAfter: at(h)})
		}
		return e
	}
	for name, test := range map[string]struct {
		entries []injection.Entry
		want    time.Time
	}{
		"nothing":                        {},
		"an empty entry":                 {[]injection.Entry{entry()}, time.Time{}},
		"in a rotation":                  {[]injection.Entry{entry(1, 5)}, at(5)},
		"one of two webhooks ends first": {[]injection.Entry{entry(1, 5), entry(3, 2)}, at(3)},
		"beside an empty entry":          {[]injection.Entry{entry(), entry(4)}, at(4)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := endOf(test.entries); !got.Equal(test.want) {
				t.Errorf("it ends at %s, want %s", got, test.want)
			}
		})
	}
}

// TestExpiryMetric: a target has a series while it is known, and of very many those that expire first have one.
func TestExpiryMetric(t *testing.T) {
	m := newMemory()
	put := func(name string, at time.Time) {
		m.update(target{Kind: "APIService", Name: name}, func(s *state) {
			s.entries = []injection.Entry{{Anchors: []*pki.Certificate{{NotAfter: at}}}}
		})
	}
	put("first", time.Unix(100, 0))
	put("gone", time.Unix(50, 0))
	m.update(target{Kind: "APIService", Name: "unread"}, func(s *state) { s.held = "it is held" })
	m.forget(target{Kind: "APIService", Name: "gone"})
	if diff := cmp.Diff(map[string]float64{"first": 100}, expiries(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range 2 * mostTargets {
		put(strconv.Itoa(i), time.Unix(int64(1000+i), 0))
	}
	got := expiries(t, m)
	if _, shown := got[strconv.Itoa(mostTargets)]; len(got) != mostTargets || got["first"] != 100 || shown {
		t.Errorf("%d series, the first %v", len(got), got["first"])
	}
}

// TestExpiryOfRefusedTarget: a target that may have no bundle any more keeps its series until it changes.
func TestExpiryOfRefusedTarget(t *testing.T) {
	w, c := settled(t)
	want := w.entries(guard)[0].Anchors[0].NotAfter
	disagree(w)
	w.look(c, guard)
	if got := endOf(c.memory.get(guard).entries); !got.Equal(want) {
		t.Errorf("it ends at %s, want %s", got, want)
	}
	w.edit(guard, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"edited": "true"}) })
	w.look(c, guard)
	if got := endOf(c.memory.get(guard).entries); !got.IsZero() {
		t.Errorf("of a content that was never read it ends at %s", got)
	}
}

// expiries are the series of APIServices, by name.
func expiries(t *testing.T, m *memory) map[string]float64 {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	newMeters(m).register(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "certrotation_cabundle_expiration_timestamp_seconds" {
			continue
		}
		for _, one := range f.GetMetric() {
			got[one.GetLabel()[1].GetValue()] = one.GetGauge().GetValue()
		}
	}
	return got
}
