// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
)

// BenchmarkUpstreamList and BenchmarkUpstreamWrites run upstream's storage benchmarks, at sizes for a small
// machine.
func BenchmarkUpstreamList(b *testing.B) {
	data := storagetesting.PrepareBenchmarkData(20, 100, 50)
	s := &writable{Store: syncedStore(b, podConfig())}
	if err := storagetesting.PrecreateBenchmarkPods(b.Context(), s, data); err != nil {
		b.Fatal(err)
	}
	storagetesting.RunBenchmarkStoreList(b.Context(), b, s, data, false)
}

func BenchmarkUpstreamWrites(b *testing.B) {
	data := storagetesting.PrepareBenchmarkData(20, 50, 50)
	s := &writable{Store: syncedStore(b, podConfig())}
	storagetesting.RunBenchmarkWriteThroughput(b.Context(), b, s, data, false, nil)
}

// filledStore returns a store of n pods in namespaces of 100, without history.
func filledStore(b *testing.B, n int) *Store {
	b.Helper()
	s := startStore(b, podConfig())
	mustApply(b, s, batch(n, "first")...)
	s.MarkSynced()
	return s
}

func batch(n int, node string) []Change {
	changes := make([]Change, 0, n)
	for i := range n {
		changes = append(changes, set(pod(fmt.Sprintf("ns-%d", i/100), fmt.Sprintf("pod-%d", i%100), onNode(node), func(p *example.Pod) {
			p.Labels = map[string]string{"app": "bench"}
		})))
	}
	return changes
}

func sizes(b *testing.B, run func(*testing.B, int)) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) { run(b, n) })
	}
}

func BenchmarkGet(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := filledStore(b, n)
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Get(b.Context(), "/pods/ns-7/pod-42", storage.GetOptions{}, &example.Pod{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	variants := map[string]func(*storage.ListOptions){
		"all":      func(*storage.ListOptions) {},
		"page=500": func(o *storage.ListOptions) { o.Predicate.Limit = 500 },
		"selected": selecting("metadata.name=pod-42"),
	}
	sizes(b, func(b *testing.B, n int) {
		s := filledStore(b, n)
		for name, variant := range variants {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := s.GetList(b.Context(), "/pods", everything(variant), &example.PodList{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

// BenchmarkFanOut measures the time from a change until all watches have its event.
func BenchmarkFanOut(b *testing.B) {
	for _, watchers := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("watches=%d", watchers), func(b *testing.B) {
			sizes(b, func(b *testing.B, n int) {
				s := filledStore(b, n)
				opts := everything(fromVersion(format(s.current.Load().revision)))
				var pending sync.WaitGroup
				for range watchers {
					w := mustWatch(b.Context(), b, s, opts)
					go func() {
						for range w.ResultChan() {
							pending.Done()
						}
					}()
				}
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					i++
					pending.Add(watchers)
					mustApply(b, s, set(pod("ns-7", "pod-42", onNode(fmt.Sprint(i)))))
					pending.Wait()
				}
			})
		})
	}
}

// BenchmarkApply measures a batch that changes every object, without watches.
func BenchmarkApply(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s := filledStore(b, n)
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			i++
			changes := batch(n, fmt.Sprint(i))
			b.StartTimer()
			mustApply(b, s, changes...)
		}
	})
}
