// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
)

func TestEventsAreEncodedOncePerFormat(t *testing.T) {
	const watchers = 20
	s := syncedStore(t, podConfig())
	var streams []watch.Interface
	for range watchers {
		streams = append(streams, mustWatch(t.Context(), t, s, everything()))
	}
	mustApply(t, s, set(pod("ns", "a")))
	mustApply(t, s, remove("ns", "a"))

	var encoded atomic.Int64
	encode := func(object runtime.Object, w io.Writer) error {
		encoded.Add(1)
		_, err := io.WriteString(w, object.(*example.Pod).ResourceVersion)
		return err
	}
	var wait sync.WaitGroup
	for _, stream := range streams {
		wait.Go(func() {
			for _, want := range []string{"2", "3"} {
				e := <-stream.ResultChan()
				shared, ok := e.Object.(runtime.CacheableObject)
				if !ok {
					t.Errorf("%v carries a %T", e.Type, e.Object)
					return
				}
				for _, format := range []runtime.Identifier{"json", "yaml"} {
					var out writes
					if err := shared.CacheEncode(format, encode, &out); err != nil || string(out) != want {
						t.Errorf("%v as %s: %q, %v; want %q", e.Type, format, out, err, want)
					}
				}
			}
		})
	}
	wait.Wait()
	if got := encoded.Load(); got != 4 {
		t.Errorf("encoded %d times, want once per event and format: 4", got)
	}
}

type writes []byte

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

func TestSharedObjectsCannotBeWritten(t *testing.T) {
	original := pod("ns", "a", func(p *example.Pod) { p.Labels = map[string]string{"k": "v"} })
	shared := newSharedObject(original)
	accessor, err := meta.Accessor(shared)
	if err != nil {
		t.Fatalf("Accessor: %v", err)
	}
	accessor.GetLabels()["k"] = "changed"
	accessor.SetName("changed")
	shared.GetObject().(*example.Pod).Labels["k"] = "changed"
	shared.DeepCopyObject().(*sharedObject).object.(*example.Pod).Labels["k"] = "changed"
	shared.GetObjectKind().SetGroupVersionKind(example.SchemeGroupVersion.WithKind("Other"))
	if original.Name != "a" || original.Labels["k"] != "v" || original.Kind != "" {
		t.Errorf("the original is %v", original)
	}
}

func TestFailedEncodingIsReported(t *testing.T) {
	shared := newSharedObject(pod("ns", "a"))
	want := errors.New("no encoder")
	for range 2 {
		err := shared.CacheEncode("json", func(runtime.Object, io.Writer) error { return want }, io.Discard)
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestOnlyFreshEventsKeepTheirEncodings(t *testing.T) {
	s := syncedStore(t, podConfig())
	mustApply(t, s, set(pod("ns", "a")))
	first := s.current.Load().history[0]
	if first.afterObject() != first.afterObject() {
		t.Error("a fresh event does not share its object")
	}
	for i := range 2 * freshEvents {
		mustApply(t, s, set(pod("ns", "a", onNode(fmt.Sprint(i)))))
	}
	if first.after.Load() != nil || first.afterObject() == first.afterObject() {
		t.Error("an old event still shares its object")
	}
}
