// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// churn changes one pod n times, and yields to the watches after each change.
func churn(tb testing.TB, s *Store, n int) uint64 {
	tb.Helper()
	var revision uint64
	for i := range n {
		revision = mustApply(tb, s, set(pod("ns", "busy", onNode(fmt.Sprint(i)))))
		synctest.Wait()
	}
	return revision
}

func TestSlowWatchIsCutAndHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := podConfig()
		cfg.HistoryEvents = 100
		s := syncedStore(t, cfg)
		from := everything(fromVersion(format(currentRevision(t, s))))
		slow := mustWatch(t.Context(), t, s, from)
		prompt := mustWatch(t.Context(), t, s, from)
		var seen uint64
		go func() {
			for e := range prompt.ResultChan() {
				seen, _ = s.cfg.Versioner.ObjectResourceVersion(e.Object)
			}
		}()
		last := churn(t, s, 1000)
		if seen != last {
			t.Errorf("the prompt watch is at %d, want %d", seen, last)
		}
		delivered := 0
		for range slow.ResultChan() {
			delivered++
		}
		if delivered != resultBuffer {
			t.Errorf("the slow watch got %d events before it was cut, want %d", delivered, resultBuffer)
		}
	})
}

// TestWatchEndsWhereTheHistoryWasCut: the only event for the watch is in the dropped part of the history.
func TestWatchEndsWhereTheHistoryWasCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := podConfig()
		cfg.HistoryEvents = 10
		s := syncedStore(t, cfg)
		mustApply(t, s, set(pod("ns", "a", onNode("n1"))))
		from := everything(fromVersion(format(currentRevision(t, s))), selecting("spec.nodeName=n1"))
		w := mustWatch(t.Context(), t, s, from)
		synctest.Wait()
		batch := []Change{set(pod("ns", "a", onNode("n2")))}
		for i := range 50 {
			batch = append(batch, set(pod("ns", "busy", onNode(fmt.Sprint(i)))))
		}
		mustApply(t, s, batch...)
		synctest.Wait()
		if e, open := <-w.ResultChan(); open {
			t.Errorf("got %v %v, want the end of the stream", e.Type, e.Object)
		}
		e, _ := received(t, mustWatch(t.Context(), t, s, from))
		if got := statusReason(e); got != metav1.StatusReasonExpired {
			t.Errorf("whoever resumes gets %v %v, want an expired status", e.Type, e.Object)
		}
	})
}

// TestBookmarkIsOfWhatWasSent: a client resumes from a bookmark, so it must not cover events that were not sent
// yet.
func TestBookmarkIsOfWhatWasSent(t *testing.T) {
	s := syncedStore(t, podConfig())
	sent := mustApply(t, s, set(pod("ns", "a")))
	w := newWatcher(t.Context(), s, s.newSelection("/pods", everything()), everything(withBookmarks))
	w.cursor = sent
	mustApply(t, s, set(pod("ns", "b")))
	if !w.sendBookmark(false) {
		t.Fatal("no bookmark was sent")
	}
	e := <-w.ResultChan()
	if got, err := s.cfg.Versioner.ObjectResourceVersion(e.Object); err != nil || got != sent {
		t.Errorf("bookmark at %d, %v, want %d", got, err, sent)
	}
}

func TestWatchOfExpiredRevision(t *testing.T) {
	cfg := podConfig()
	cfg.HistoryEvents = 10
	s := syncedStore(t, cfg)
	start := currentRevision(t, s)
	for i := range 50 {
		mustApply(t, s, set(pod("ns", "a", onNode(fmt.Sprint(i)))))
	}
	w := mustWatch(t.Context(), t, s, everything(fromVersion(format(start))))
	e, _ := received(t, w)
	if got := statusReason(e); got != metav1.StatusReasonExpired {
		t.Errorf("got %v %v, want an expired status", e.Type, e.Object)
	}
	if _, open := received(t, w); open {
		t.Error("the stream goes on after its error")
	}
}

func TestWatchTranslatesSelections(t *testing.T) {
	s := syncedStore(t, podConfig())
	w := mustWatch(t.Context(), t, s, everything(selecting("spec.nodeName=n1")))
	mustApply(t, s, set(pod("ns", "a", onNode("n2"))))
	entered := mustApply(t, s, set(pod("ns", "a", onNode("n1"))))
	changed := mustApply(t, s, set(pod("ns", "a", onNode("n1"), func(p *example.Pod) { p.Labels = map[string]string{"x": "y"} })))
	left := mustApply(t, s, set(pod("ns", "a", onNode("n2"))))
	mustApply(t, s, remove("ns", "a"))
	back := mustApply(t, s, set(pod("ns", "a", onNode("n1"))))
	gone := mustApply(t, s, remove("ns", "a"))

	type seen struct {
		Type watch.EventType
		Node string
		At   string
	}
	want := []seen{
		{watch.Added, "n1", format(entered)},
		{watch.Modified, "n1", format(changed)},
		{watch.Deleted, "n1", format(left)},
		{watch.Added, "n1", format(back)},
		{watch.Deleted, "n1", format(gone)},
	}
	var got []seen
	for range want {
		e, _ := received(t, w)
		p := e.Object.(*example.Pod)
		got = append(got, seen{e.Type, p.Spec.NodeName, p.ResourceVersion})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestBookmarks(t *testing.T) {
	tests := []struct {
		name     string
		deadline time.Duration
		opts     storage.ListOptions
		// earliest and latest bound the time of the first bookmark. If both are 0, none comes.
		earliest, latest time.Duration
	}{
		{"about once a minute", 0, everything(withBookmarks), time.Minute, 75 * time.Second},
		{"ahead of the deadline", 30 * time.Second, everything(withBookmarks), 28 * time.Second, 28 * time.Second},
		{"not unless allowed", 30 * time.Second, everything(), 0, 0},
		{"not in the last two seconds", time.Second, everything(withBookmarks), 0, 0},
		{"progress", 0, everything(func(o *storage.ListOptions) { o.ProgressNotify = true }), 5 * time.Second, 7 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := syncedStore(t, podConfig())
				ctx, cancel := context.WithCancel(t.Context())
				if tt.deadline != 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tt.deadline)
				}
				defer cancel()
				began := time.Now()
				tt.opts.ResourceVersion = format(currentRevision(t, s))
				tt.opts.Predicate.Field = fields.Nothing()
				w := mustWatch(ctx, t, s, tt.opts)
				// Changes outside the selection move the bookmark too.
				last := mustApply(t, s, set(pod("ns", "a")))
				e, ok := <-w.ResultChan()
				after := time.Since(began)
				if tt.latest == 0 {
					if ok {
						t.Errorf("got %v after %v, want the end of the stream", e.Type, after)
					}
					return
				}
				if !ok || e.Type != watch.Bookmark || after < tt.earliest || after > tt.latest {
					t.Errorf("got %v (open: %v) after %v, want a bookmark in %v..%v", e.Type, ok, after, tt.earliest, tt.latest)
				}
				want := &example.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: format(last)}}
				if diff := cmp.Diff(want, e.Object); diff != "" {
					t.Errorf("bookmark (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestStopEndsWatches(t *testing.T) {
	s := syncedStore(t, podConfig())
	idle := mustWatch(t.Context(), t, s, everything())
	blocked := mustWatch(t.Context(), t, s, everything())
	for i := range 3 * resultBuffer {
		mustApply(t, s, set(pod("ns", fmt.Sprint(i))))
	}
	for range 3 * resultBuffer {
		received(t, idle)
	}
	s.Stop()
	s.Stop()
	for name, w := range map[string]watch.Interface{"idle": idle, "blocked": blocked} {
		for range w.ResultChan() {
			t.Logf("%s watch still had an event", name)
		}
	}
	if _, open := received(t, mustWatch(t.Context(), t, s, everything())); open {
		t.Error("a stopped store opened a watch")
	}
	if _, err := s.Apply([]Change{set(pod("ns", "late"))}); err == nil {
		t.Error("a stopped store took a change")
	}
}
