// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	testingclock "k8s.io/utils/clock/testing"
)

func TestApplyGivesEachChangeARevision(t *testing.T) {
	s := syncedStore(t, podConfig())
	steps := []struct {
		name    string
		changes []Change
		want    uint64
	}{
		{"two new", []Change{set(pod("ns", "a")), set(pod("ns", "b"))}, 3},
		{"nothing new", []Change{set(pod("ns", "a")), set(pod("ns", "b"))}, 3},
		{"version of the input does not count", []Change{set(pod("ns", "a", func(p *example.Pod) { p.ResourceVersion = "99" }))}, 3},
		{"one of two differs", []Change{set(pod("ns", "a", onNode("n"))), set(pod("ns", "b"))}, 4},
		{"one key twice", []Change{set(pod("ns", "c")), set(pod("ns", "c", onNode("n")))}, 6},
		{"made and gone", []Change{set(pod("ns", "d")), remove("ns", "d")}, 8},
		{"delete what is not there", []Change{remove("ns", "d")}, 8},
		{"no changes", nil, 8},
	}
	for _, step := range steps {
		if got := mustApply(t, s, step.changes...); got != step.want {
			t.Errorf("%s: revision %d, want %d", step.name, got, step.want)
		}
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.ObjectCount != 3 {
		t.Errorf("Stats = %+v, %v; want 3 objects", stats, err)
	}
}

func TestApplyIsAllOrNothing(t *testing.T) {
	cfg := podConfig()
	attributes := cfg.GetAttrs
	cfg.GetAttrs = func(obj runtime.Object) (labels.Set, fields.Set, error) {
		if obj.(*example.Pod).Name == "bad" {
			return nil, nil, errors.New("no attributes")
		}
		return attributes(obj)
	}
	s := syncedStore(t, cfg)
	before := currentRevision(t, s)
	for name, bad := range map[string]runtime.Object{"attributes": pod("ns", "bad"), "metadata": &metav1.Status{}} {
		if _, err := s.Apply([]Change{set(pod("ns", "good")), {Key: "ns/bad", Object: bad}}); err == nil {
			t.Errorf("%s: applied an object without", name)
		}
	}
	if after := currentRevision(t, s); after != before {
		t.Errorf("revision went from %d to %d", before, after)
	}
}

func TestReadsAreRefusedUntilSynced(t *testing.T) {
	s := startStore(t, podConfig())
	mustApply(t, s, set(pod("ns", "a")))
	_, watchErr := s.Watch(t.Context(), "/pods", everything())
	_, statsErr := s.Stats(t.Context())
	for name, err := range map[string]error{
		"get":   s.Get(t.Context(), "/pods/ns/a", storage.GetOptions{}, &example.Pod{}),
		"list":  s.GetList(t.Context(), "/pods", everything(), &example.PodList{}),
		"watch": watchErr,
		"stats": statsErr,
	} {
		if _, retry := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) || !retry {
			t.Errorf("%s: got %v, want a 503 with a hint to retry", name, err)
		}
	}
	if s.Synced() || s.ReadinessCheck() == nil {
		t.Error("ready before MarkSynced")
	}
	s.MarkSynced()
	if err := s.Get(t.Context(), "/pods/ns/a", storage.GetOptions{}, &example.Pod{}); err != nil || s.ReadinessCheck() != nil {
		t.Errorf("after MarkSynced: get %v, readiness %v", err, s.ReadinessCheck())
	}
}

func TestHistoryBounds(t *testing.T) {
	const objects = 8
	tests := []struct {
		name      string
		events    int
		pause     time.Duration
		wantFloor func(last uint64) uint64
	}{
		{"by count", 20, 0, func(last uint64) uint64 { return last - 20 }},
		{"never fewer than two changes of each object", 4, 0, func(last uint64) uint64 { return last - 2*objects }},
		{"by age", 1000, 10 * time.Second, func(last uint64) uint64 { return last - 9 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clk := testingclock.NewFakeClock(time.Unix(1_700_000_000, 0))
			cfg := podConfig()
			cfg.Clock, cfg.HistoryEvents, cfg.HistoryAge = clk, tt.events, 90*time.Second
			s := syncedStore(t, cfg)
			var last uint64
			for i := range 100 {
				clk.Step(tt.pause)
				last = mustApply(t, s, set(pod("ns", fmt.Sprint(i%objects), onNode(fmt.Sprint(i)))))
			}
			floor := tt.wantFloor(last)
			if got := s.CompactRevision(); got != int64(floor) {
				t.Errorf("compacted to %d, want %d", got, floor)
			}
			for revision, want := range map[uint64]metav1.StatusReason{floor: "", floor - 1: metav1.StatusReasonExpired} {
				if got := ways()["exact list"](t, s, format(revision)); got != want {
					t.Errorf("exact list of %d: reason %q, want %q", revision, got, want)
				}
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	tests := map[string]func(*Config){
		"no resource":     func(c *Config) { c.Resource.Resource = "" },
		"root prefix":     func(c *Config) { c.ResourcePrefix = "/" },
		"relative prefix": func(c *Config) { c.ResourcePrefix = "pods" },
		"no constructor":  func(c *Config) { c.NewFunc = nil },
		"no attributes":   func(c *Config) { c.GetAttrs = nil },
		"short history":   func(c *Config) { c.HistoryAge = time.Minute },
		"negative events": func(c *Config) { c.HistoryEvents = -1 },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := podConfig()
			spoil(&cfg)
			if _, err := New(cfg); err == nil {
				t.Error("New accepted it")
			}
		})
	}
}
