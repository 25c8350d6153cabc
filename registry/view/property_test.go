// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"certrotation.dev/test/property"
)

// follower is a client that keeps a copy of the selected objects. It lists once, applies events to the list, and
// resumes from the last revision that it saw.
type follower struct {
	t       *rapid.T
	store   *Store
	opts    storage.ListOptions
	objects map[string]string // namespace/name -> node@revision
	cursor  uint64
}

func (f *follower) relist(opts storage.ListOptions) map[string]string {
	var list example.PodList
	if err := f.store.GetList(context.Background(), "/pods", opts, &list); err != nil {
		f.t.Fatalf("list at %q: %v", opts.ResourceVersion, err)
	}
	objects := map[string]string{}
	for _, p := range list.Items {
		objects[p.Namespace+"/"+p.Name] = p.Spec.NodeName + "@" + p.ResourceVersion
	}
	f.cursor = f.parse(list.ResourceVersion)
	return objects
}

func (f *follower) parse(version string) uint64 {
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		f.t.Fatalf("resource version: %v", err)
	}
	return revision
}

// follow watches from the cursor to a revision, or for a number of events, and checks each event.
func (f *follower) follow(ctx context.Context, until uint64, stopAfter int) {
	opts := f.opts
	opts.ResourceVersion = format(f.cursor)
	w, err := f.store.Watch(ctx, "/pods", opts)
	if err != nil {
		f.t.Fatalf("watch from %d: %v", f.cursor, err)
	}
	defer w.Stop()
	for _, revision := range f.expected(until) {
		if stopAfter == 0 {
			return
		}
		stopAfter--
		select {
		case e := <-w.ResultChan():
			f.fold(e)
		case <-time.After(time.Minute):
			f.t.Fatalf("no event at %d within a minute", revision)
		}
		if f.cursor != revision {
			f.t.Fatalf("got an event at %d, want %d", f.cursor, revision)
		}
	}
	f.cursor = until
}

// expected returns the revisions of the coming events. It computes them from exact lists: events come at the
// revisions at which the selected part changes.
func (f *follower) expected(until uint64) []uint64 {
	var revisions []uint64
	before := f.exact(f.cursor)
	for revision := f.cursor + 1; revision <= until; revision++ {
		after := f.exact(revision)
		if !cmp.Equal(before, after) {
			revisions = append(revisions, revision)
		}
		before = after
	}
	return revisions
}

func (f *follower) exact(revision uint64) map[string]string {
	saved := f.cursor
	defer func() { f.cursor = saved }()
	opts := f.opts
	opts.ResourceVersion, opts.ResourceVersionMatch = format(revision), metav1.ResourceVersionMatchExact
	return f.relist(opts)
}

// fold applies an event to the copy, and compares the copy with the exact list.
func (f *follower) fold(e watch.Event) {
	object := e.Object
	if shared, ok := object.(runtime.CacheableObject); ok {
		object = shared.GetObject()
	}
	p, ok := object.(*example.Pod)
	if !ok {
		f.t.Fatalf("got %v %v", e.Type, object)
	}
	key := p.Namespace + "/" + p.Name
	_, known := f.objects[key]
	if known == (e.Type == watch.Added) {
		f.t.Fatalf("%v of %s, which was known: %v", e.Type, key, known)
	}
	if e.Type == watch.Deleted {
		delete(f.objects, key)
	} else {
		f.objects[key] = p.Spec.NodeName + "@" + p.ResourceVersion
	}
	f.cursor = f.parse(p.ResourceVersion)
	if diff := cmp.Diff(f.exact(f.cursor), f.objects); diff != "" {
		f.t.Fatalf("copy at %d (-list +copy):\n%s", f.cursor, diff)
	}
}

// TestFoldedEventsEqualExactLists drives a store with random batches, and clients with random selections that stop
// and resume at random. It is sequential: it checks that histories, rewound lists and translated events agree.
func TestFoldedEventsEqualExactLists(t *testing.T) {
	selections := []func(*storage.ListOptions){
		func(*storage.ListOptions) {}, selecting("spec.nodeName=n1"), selecting("spec.nodeName!=n1"), selecting("metadata.name=p0"),
	}
	property.Check(t, func(rt *rapid.T) {
		s, err := New(podConfig())
		if err != nil {
			rt.Fatalf("New: %v", err)
		}
		defer s.Stop()
		if err := s.Start(t.Context()); err != nil {
			rt.Fatalf("Start: %v", err)
		}
		randomBatch(rt, s)
		s.MarkSynced()
		var followers []*follower
		for _, selection := range selections {
			f := &follower{t: rt, store: s, opts: everything(selection)}
			f.objects = f.relist(f.opts)
			followers = append(followers, f)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			last := randomBatch(rt, s)
			for _, f := range followers {
				if rapid.Bool().Draw(rt, "attends") {
					f.follow(t.Context(), last, rapid.IntRange(0, 12).Draw(rt, "stays for"))
				}
			}
		}
		last := s.current.Load().revision
		for _, f := range followers {
			f.follow(t.Context(), last, 1<<20)
			if diff := cmp.Diff(f.relist(f.opts), f.objects); diff != "" {
				rt.Fatalf("copy at the end (-list +copy):\n%s", diff)
			}
		}
	})
}

func randomBatch(rt *rapid.T, s *Store) uint64 {
	var changes []Change
	for range rapid.IntRange(0, 8).Draw(rt, "changes") {
		namespace := fmt.Sprintf("ns%d", rapid.IntRange(0, 1).Draw(rt, "namespace"))
		name := fmt.Sprintf("p%d", rapid.IntRange(0, 3).Draw(rt, "name"))
		if node := rapid.IntRange(0, 2).Draw(rt, "node"); node > 0 {
			changes = append(changes, set(pod(namespace, name, onNode(fmt.Sprintf("n%d", node)))))
		} else {
			changes = append(changes, remove(namespace, name))
		}
	}
	revision, err := s.Apply(changes)
	if err != nil {
		rt.Fatalf("Apply: %v", err)
	}
	return revision
}
