// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"k8s.io/utils/clock"

	"certrotation.dev/test/property"
)

func namespaceOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace
}

func TestShare(t *testing.T) {
	for workers, want := range map[int]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 8: 4, 16: 8} {
		if got := Share(workers); got != want {
			t.Errorf("of %d workers a namespace may hold %d, want %d", workers, got, want)
		}
	}
}

// TestGivenShare: a namespace holds as many workers as it is given, and others do not wait for it.
func TestGivenShare(t *testing.T) {
	queue := NewFair(FairConfig[string]{Namespace: namespaceOf, Workers: 4, Share: 1, Clock: clock.RealClock{}})
	defer queue.ShutDown()
	for _, key := range []string{"a/1", "a/2", "b/1"} {
		queue.Add(key)
	}
	first, _ := queue.Get()
	second, _ := queue.Get()
	if first != "a/1" || second != "b/1" || queue.Len() != 0 {
		t.Errorf("got %s and %s, and %d more are offered", first, second, queue.Len())
	}
	queue.Done(first)
	if third, _ := queue.Get(); third != "a/2" {
		t.Errorf("got %s", third)
	}
}

// TestSilenceOfOneNamespace: ten thousand keys of silent namespaces are queued, and each uses its whole deadline.
// Work on a key of another namespace begins within the documented time.
func TestSilenceOfOneNamespace(t *testing.T) {
	const deadline = time.Minute
	for _, tc := range []struct {
		name            string
		silent, workers int
		atMost          time.Duration
	}{
		{name: "one namespace, two workers", silent: 1, workers: 2, atMost: 0},
		{name: "one namespace, four workers", silent: 1, workers: 4, atMost: 0},
		{name: "one namespace, sixteen workers", silent: 1, workers: 16, atMost: 0},
		{name: "one namespace, a single worker", silent: 1, workers: 1, atMost: 2 * deadline},
		{name: "three namespaces, four workers", silent: 3, workers: 4, atMost: 2 * deadline},
		{name: "a hundred namespaces, sixteen workers", silent: 100, workers: 16, atMost: 8 * deadline},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := NewRateLimited(FairConfig[string]{Namespace: namespaceOf, Workers: tc.workers, Clock: clock.RealClock{}}, time.Second, time.Minute)
				began := make(chan time.Time, 1)
				var stop atomic.Bool
				var workers sync.WaitGroup
				for range tc.workers {
					workers.Go(func() {
						for {
							key, shutdown := queue.Get()
							if shutdown {
								return
							}
							switch {
							case namespaceOf(key) == "other":
								began <- time.Now()
							case !stop.Load():
								<-time.After(deadline)
							}
							queue.Done(key)
						}
					})
				}
				for i := range 10000 {
					queue.Add(fmt.Sprintf("silent-%d/%d", i%tc.silent, i))
				}
				synctest.Wait()
				<-time.After(deadline / 2)
				added := time.Now()
				queue.Add("other/key")
				if waited := (<-began).Sub(added); waited > tc.atMost {
					t.Errorf("the key of another namespace has waited %s, want at most %s", waited, tc.atMost)
				}
				stop.Store(true)
				queue.ShutDown()
				workers.Wait()
			})
		})
	}
}

// TestNothingIsLost: in any order of arrival, each key is processed, by one worker at a time. No namespace exceeds
// its share of workers, and none is forgotten.
func TestNothingIsLost(t *testing.T) {
	property.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 5).Draw(rt, "workers")
		keys := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
			return fmt.Sprintf("%d/%d", rapid.IntRange(0, 3).Draw(rt, "namespace"), rapid.IntRange(0, 5).Draw(rt, "key"))
		}), 1, 60).Draw(rt, "keys")
		synctest.Test(t, func(t *testing.T) {
			queue := NewFair(FairConfig[string]{Namespace: namespaceOf, Workers: workers, Clock: clock.RealClock{}})
			var (
				mu      sync.Mutex
				working = map[string]int{}
				held    = map[string]int{}
				last    = map[string]int{}
				running sync.WaitGroup
			)
			for range workers {
				running.Go(func() {
					for {
						key, shutdown := queue.Get()
						if shutdown {
							return
						}
						mu.Lock()
						working[key]++
						held[namespaceOf(key)]++
						if working[key] > 1 || held[namespaceOf(key)] > Share(workers) {
							t.Errorf("%s: %d workers on the key, %d on its namespace", key, working[key], held[namespaceOf(key)])
						}
						last[key]++
						mu.Unlock()
						<-time.After(time.Duration(len(keys)) * time.Millisecond)
						mu.Lock()
						working[key]--
						held[namespaceOf(key)]--
						mu.Unlock()
						queue.Done(key)
					}
				})
			}
			for i, key := range keys {
				if i%3 == 0 {
					<-time.After(time.Millisecond)
				}
				queue.Add(key)
			}
			<-time.After(time.Hour)
			mu.Lock()
			for _, key := range keys {
				if last[key] == 0 {
					t.Errorf("nobody has worked on %s", key)
				}
			}
			mu.Unlock()
			if n := queue.Len(); n != 0 {
				t.Errorf("%d keys are left", n)
			}
			queue.ShutDown()
			running.Wait()
		})
	})
}

// TestTurnsForgetNamespaces: a namespace without keys and workers uses no memory.
func TestTurnsForgetNamespaces(t *testing.T) {
	turns := newTurns(namespaceOf, 1)
	for i := range 100 {
		turns.Push(fmt.Sprintf("%d/a", i))
	}
	for turns.Len() > 0 {
		turns.release(turns.Pop())
	}
	if len(turns.namespaces) != 0 || turns.ready.Len() != 0 || turns.offered != 0 {
		t.Errorf("left: %d namespaces, %d turns, %d keys", len(turns.namespaces), turns.ready.Len(), turns.offered)
	}
}
