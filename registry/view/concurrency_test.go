// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
)

// TestConcurrentReadsAndWrites is for the race detector. It also checks that no reader sees time go backwards,
// half a batch, or a gap.
func TestConcurrentReadsAndWrites(t *testing.T) {
	const rounds, objects = 300, 10
	s := syncedStore(t, podConfig())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() { followToTheEnd(t, s, rounds) })
	}
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() { listUntil(t, s, stop) })
	}
	for round := range rounds {
		changes := make([]Change, 0, objects)
		for i := range objects {
			changes = append(changes, set(pod("ns", fmt.Sprint(i), onNode(fmt.Sprint(round)))))
		}
		mustApply(t, s, changes...)
	}
	mustApply(t, s, set(pod("ns", "end")))
	close(stop)
	readers.Wait()
}

// followToTheEnd watches until the pod "end" comes, and requires each round of each pod in order.
func followToTheEnd(t *testing.T, s *Store, rounds int) {
	w, err := s.Watch(t.Context(), "/pods", everything(fromVersion("1")))
	if err != nil {
		t.Errorf("Watch: %v", err)
		return
	}
	defer w.Stop()
	next := map[string]int{}
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			t.Errorf("got %v", e.Object)
			return
		}
		p := e.Object.(runtime.CacheableObject).GetObject().(*example.Pod)
		if p.Name == "end" {
			break
		}
		if p.Spec.NodeName != strconv.Itoa(next[p.Name]) {
			t.Errorf("pod %s is in round %s, want %d", p.Name, p.Spec.NodeName, next[p.Name])
		}
		next[p.Name]++
	}
	for name, n := range next {
		if n != rounds {
			t.Errorf("saw %d rounds of pod %s, want %d", n, name, rounds)
		}
	}
}

func listUntil(t *testing.T, s *Store, stop <-chan struct{}) {
	version := "0"
	for {
		select {
		case <-stop:
			return
		default:
		}
		var list example.PodList
		if err := s.GetList(t.Context(), "/pods", everything(fromVersion(version), matching(metav1.ResourceVersionMatchNotOlderThan)), &list); err != nil {
			t.Errorf("list: %v", err)
			return
		}
		version = list.ResourceVersion
		for _, p := range list.Items {
			if p.Name != "end" && p.Spec.NodeName != list.Items[0].Spec.NodeName {
				t.Errorf("list at %s shows rounds %s and %s", version, list.Items[0].Spec.NodeName, p.Spec.NodeName)
			}
		}
	}
}
