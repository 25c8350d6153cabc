// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	testingclock "k8s.io/utils/clock/testing"
)

// etcdRevisions is a source of epochs: the revision counter that all replicas share.
type etcdRevisions struct {
	revision atomic.Uint64
	calls    atomic.Int64
	fail     atomic.Bool
	// gate, if set, blocks each call until it can receive.
	gate chan struct{}
}

func (e *etcdRevisions) NextEpoch(ctx context.Context) (uint64, error) {
	e.calls.Add(1)
	if e.gate != nil {
		select {
		case <-e.gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if e.fail.Load() {
		return 0, errors.New("lease not writable")
	}
	return e.revision.Add(1), nil
}

func etcdAt(revision uint64) *etcdRevisions {
	e := &etcdRevisions{}
	e.revision.Store(revision)
	return e
}

// replica returns a synced store with one pod, whose first epoch is source.revision+1.
func replica(t *testing.T, source *etcdRevisions) (*Store, *testingclock.FakeClock) {
	t.Helper()
	clk := testingclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	cfg := podConfig()
	cfg.Epochs, cfg.Clock = source, clk
	s := syncedStore(t, cfg)
	mustApply(t, s, set(pod("ns", "a")))
	return s, clk
}

func currentRevision(t *testing.T, s *Store) uint64 {
	t.Helper()
	revision, err := s.GetCurrentResourceVersion(t.Context())
	if err != nil {
		t.Fatalf("GetCurrentResourceVersion: %v", err)
	}
	return revision
}

func format(revision uint64) string {
	return strconv.FormatUint(revision, 10)
}

// ways returns the ways to ask a store about a revision. Each returns the status reason of the answer.
func ways() map[string]func(*testing.T, *Store, string) metav1.StatusReason {
	list := func(match metav1.ResourceVersionMatch) func(*testing.T, *Store, string) metav1.StatusReason {
		return func(t *testing.T, s *Store, version string) metav1.StatusReason {
			return reasonOf(s.GetList(t.Context(), "/pods", everything(fromVersion(version), matching(match)), &example.PodList{}))
		}
	}
	return map[string]func(*testing.T, *Store, string) metav1.StatusReason{
		"exact list":     list(metav1.ResourceVersionMatchExact),
		"not older list": list(metav1.ResourceVersionMatchNotOlderThan),
		"get": func(t *testing.T, s *Store, version string) metav1.StatusReason {
			return reasonOf(s.Get(t.Context(), "/pods/ns/a", storage.GetOptions{ResourceVersion: version}, &example.Pod{}))
		},
		"watch": func(t *testing.T, s *Store, version string) metav1.StatusReason {
			w := mustWatch(t.Context(), t, s, everything(fromVersion(version)))
			mustApply(t, s, set(pod("ns", "fresh")))
			e, _ := received(t, w)
			return statusReason(e)
		},
	}
}

func reasonOf(err error) metav1.StatusReason {
	if err == nil {
		return ""
	}
	return apierrors.ReasonForError(err)
}

func TestRevisionsOfRequests(t *testing.T) {
	tests := []struct {
		name     string
		revision func(own uint64) uint64
		want     metav1.StatusReason
		// wantEpoch is the store's epoch afterwards. It starts at 101, and etcd is at 151.
		wantEpoch uint64
	}{
		{"own", func(own uint64) uint64 { return own }, "", 101},
		{"older epoch", func(uint64) uint64 { return epochStart(77) + 5 }, metav1.StatusReasonExpired, 101},
		{"without an epoch", func(uint64) uint64 { return 1 }, metav1.StatusReasonExpired, 101},
		{"future of the own epoch", func(own uint64) uint64 { return own + 1000 }, metav1.StatusReasonTimeout, 101},
		{"later epoch of a peer", func(uint64) uint64 { return epochStart(140) + 3 }, metav1.StatusReasonExpired, 152},
		{"later epoch, invented", func(uint64) uint64 { return epochStart(1 << 30) }, metav1.StatusReasonExpired, 101},
	}
	for _, tt := range tests {
		for way, ask := range ways() {
			t.Run(tt.name+"/"+way, func(t *testing.T) {
				source := etcdAt(100)
				s, _ := replica(t, source)
				source.revision.Store(151)
				revision := tt.revision(currentRevision(t, s))
				if got := ask(t, s, format(revision)); got != tt.want {
					t.Errorf("reason %q, want %q", got, tt.want)
				}
				if got := epochOf(currentRevision(t, s)); got != tt.wantEpoch {
					t.Errorf("epoch %d, want %d", got, tt.wantEpoch)
				}
			})
		}
	}
}

func TestOwnEarlierEpochStaysResumable(t *testing.T) {
	source := etcdAt(100)
	s, _ := replica(t, source)
	before := currentRevision(t, s)
	source.revision.Store(150)
	if got := ways()["get"](t, s, format(epochStart(120))); got != metav1.StatusReasonExpired {
		t.Fatalf("foreign revision: reason %q", got)
	}
	if after := currentRevision(t, s); after <= epochStart(120) {
		t.Fatalf("revision %d does not exceed the foreign one %d", after, epochStart(120))
	}
	last := mustApply(t, s, set(pod("ns", "b")))

	w := mustWatch(t.Context(), t, s, everything(fromVersion(format(before))))
	e, _ := received(t, w)
	if e.Type != watch.Added || e.Object.(*example.Pod).ResourceVersion != format(last) {
		t.Errorf("resumed from the earlier epoch: got %v %v, want ADDED at %d", e.Type, e.Object, last)
	}
	var list example.PodList
	if err := s.GetList(t.Context(), "/pods", everything(fromVersion(format(before)), matching(metav1.ResourceVersionMatchExact)), &list); err != nil || len(list.Items) != 1 {
		t.Errorf("exact list of the earlier epoch: %d items, %v; want 1", len(list.Items), err)
	}
	// A revision of the earlier epoch that was never issued is unknown.
	if got := ways()["exact list"](t, s, format(before+7)); got != metav1.StatusReasonExpired {
		t.Errorf("revision never issued: reason %q, want expired", got)
	}
}

func TestInventedRevisionsCostOneWritePerInterval(t *testing.T) {
	source := etcdAt(100)
	s, clk := replica(t, source)
	ask := ways()["get"]
	invented := format(epochStart(1 << 30))
	if got := ask(t, s, invented); got != metav1.StatusReasonExpired {
		t.Fatalf("first invented revision: reason %q, want expired", got)
	}
	for range 10 {
		if got := ask(t, s, invented); got != metav1.StatusReasonTooManyRequests {
			t.Fatalf("within the interval: reason %q, want too many requests", got)
		}
	}
	if calls := source.calls.Load(); calls != 2 {
		t.Errorf("%d epochs were taken, want the first one and one more", calls)
	}
	clk.Step(overtakeInterval)
	if got := ask(t, s, invented); got != metav1.StatusReasonExpired {
		t.Errorf("in the next interval: reason %q, want expired", got)
	}
	if epoch := epochOf(currentRevision(t, s)); epoch != 101 {
		t.Errorf("invented revisions moved the epoch to %d", epoch)
	}
	// Epoch 103 was taken but not used. A client of the peer that owns 102 gets it without a wait.
	if got := ask(t, s, format(epochStart(102))); got != metav1.StatusReasonExpired {
		t.Errorf("genuine revision: reason %q, want expired", got)
	}
	if epoch, calls := epochOf(currentRevision(t, s)), source.calls.Load(); epoch != 103 || calls != 3 {
		t.Errorf("epoch %d after %d calls, want the spare 103 after 3", epoch, calls)
	}
}

func TestOvertakeIsCoalesced(t *testing.T) {
	source := etcdAt(100)
	s, _ := replica(t, source)
	source.revision.Store(150)
	source.gate = make(chan struct{})
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			if got := ways()["get"](t, s, format(epochStart(130))); got != metav1.StatusReasonExpired {
				t.Errorf("reason %q, want expired", got)
			}
		})
	}
	source.gate <- struct{}{}
	waiting.Wait()
	if calls := source.calls.Load(); calls != 2 {
		t.Errorf("%d epochs were taken, want 2", calls)
	}
}

func TestOvertakeFailure(t *testing.T) {
	source := etcdAt(100)
	s, _ := replica(t, source)
	source.fail.Store(true)
	err := s.Get(t.Context(), "/pods/ns/a", storage.GetOptions{ResourceVersion: format(epochStart(130))}, &example.Pod{})
	if seconds, retry := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) || !retry || seconds == 0 {
		t.Errorf("got %v, want a 503 with a hint to retry", err)
	}
}

func TestSequenceOverflowTakesAnEpoch(t *testing.T) {
	source := etcdAt(100)
	s, _ := replica(t, source)
	s.mu.Lock()
	next := *s.current.Load()
	next.revision = epochStart(101) + maxSequence - 1
	s.publish(&next)
	s.mu.Unlock()

	if got, want := mustApply(t, s, set(pod("ns", "b"))), epochStart(101)+maxSequence; got != want {
		t.Errorf("last of the epoch is %d, want %d", got, want)
	}
	source.fail.Store(true)
	if _, err := s.Apply([]Change{set(pod("ns", "c"))}); err == nil {
		t.Error("applied a change beyond the sequence without an epoch")
	}
	source.fail.Store(false)
	if got, want := mustApply(t, s, set(pod("ns", "c"))), epochStart(102)+1; got != want {
		t.Errorf("first change of the next epoch is %d, want %d", got, want)
	}
}

// TestEpochIsNotUsedTwice: after a restore from a backup, etcd repeats earlier revisions.
func TestEpochIsNotUsedTwice(t *testing.T) {
	for name, restored := range map[string]uint64{"the present one": 100, "an earlier one": 90} {
		t.Run(name, func(t *testing.T) {
			source := etcdAt(100)
			s, _ := replica(t, source)
			before := currentRevision(t, s)
			source.revision.Store(restored)
			err := s.Get(t.Context(), "/pods/ns/a", storage.GetOptions{ResourceVersion: format(epochStart(130))}, &example.Pod{})
			if !apierrors.IsServiceUnavailable(err) {
				t.Errorf("a revision of a peer: got %v, want a 503", err)
			}
			s.mu.Lock()
			next := *s.current.Load()
			next.revision = epochStart(101) + maxSequence
			s.publish(&next)
			s.mu.Unlock()
			source.revision.Store(restored)
			if revision, err := s.Apply([]Change{set(pod("ns", "b"))}); err == nil {
				t.Errorf("a change has the revision %d, after %d of epoch 101 was used up", revision, before)
			}
		})
	}
}

func TestStartRefusesImpossibleEpochs(t *testing.T) {
	for name, revision := range map[string]uint64{"zero": ^uint64(0), "beyond 39 bits": epochLimit - 1} {
		t.Run(name, func(t *testing.T) {
			cfg := podConfig()
			cfg.Epochs = etcdAt(revision)
			s, err := New(cfg)
			if err != nil {
				t.Fatalf("New: %v", err)
			}
			if err := s.Start(t.Context()); err == nil {
				t.Error("started with an epoch that does not fit")
			}
		})
	}
}
