// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	"k8s.io/utils/clock"

	"certrotation.dev/generated/clientset/versioned"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
)

// Server holds objects. Make one with New.
type Server struct {
	// Client has the core groups, and Own those of configurations, records and rotations.
	Client kubernetes.Interface
	Own    versioned.Interface
	// Aggregator has the APIServices.
	Aggregator aggregator.Interface
	// Dynamic has all of them, and CustomResourceDefinitions; Metadata has their metadata.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface

	// Admit may change what is about to be written, or refuse it in words of its own.
	Admit func(*Request) error
	// Fault says what befalls a write, and ReadFault what befalls a read or a watch that begins.
	Fault, ReadFault func(*Request) Fault
	// Stored is told of each write that has happened, before the client is.
	Stored func(*Request)

	clock clock.PassiveClock
	kinds *kinds

	mu      sync.Mutex
	store   *store
	writes  int
	dead    bool
	actions []clienttesting.Action
	answers map[string]func(*Request) (runtime.Object, error)
}

// T is the test that a server is for: a testing.TB or a rapid.T.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// New returns a server that has the objects.
func New(t T, c clock.PassiveClock, objects ...runtime.Object) *Server {
	t.Helper()
	kinds, err := served()
	if err != nil {
		t.Fatalf("make an API server: %v", err)
	}
	s := &Server{clock: c, kinds: kinds, store: newStore(), answers: map[string]func(*Request) (runtime.Object, error){}}
	// Clientsets that a constructor makes track managed fields, for which they make a REST mapper at every write.
	core, own, services, meta := &fake.Clientset{}, &ownfake.Clientset{}, &aggregatorfake.Clientset{}, &metadatafake.FakeMetadataClient{}
	for _, client := range []*clienttesting.Fake{&core.Fake, &own.Fake, &services.Fake} {
		client.AddReactor("*", "*", s.react)
		client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
			watched, err := s.watch(action, whole)
			return true, watched, err
		})
	}
	meta.AddReactor("*", "*", s.reactMetadata)
	meta.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		watched, err := s.watch(action, s.kinds.metadataOf)
		return true, watched, err
	})
	s.Client, s.Own, s.Aggregator, s.Dynamic, s.Metadata = core, own, services, s.newDynamic(), meta
	for _, o := range objects {
		if err := s.Put(o); err != nil {
			t.Fatalf("make an API server: %v", err)
		}
	}
	return s
}

// whole is an object as it is.
func whole(o runtime.Object) (runtime.Object, error) { return o.DeepCopyObject(), nil }

// react answers a request.
func (s *Server) react(action clienttesting.Action) (bool, runtime.Object, error) {
	s.note(action)
	o, err := s.respond(requestOf(action), action)
	return true, o, err
}

// respond to a request of any client.
func (s *Server) respond(r *Request, action clienttesting.Action) (runtime.Object, error) {
	var o runtime.Object
	var err error
	answer := s.answerOf(r)
	switch {
	case answer != nil:
		o, err = s.say(r, answer)
	case r.Verb == "get" || r.Verb == "list":
		o, err = s.read(r, action)
	default:
		o, err = s.write(r, action)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// reactMetadata answers a read of metadata; nobody writes those.
func (s *Server) reactMetadata(action clienttesting.Action) (bool, runtime.Object, error) {
	s.note(action)
	r := requestOf(action)
	if r.Verb != "get" && r.Verb != "list" {
		return true, nil, apierrors.NewMethodNotSupported(r.Resource.GroupResource(), r.Verb)
	}
	o, err := s.read(r, action)
	if err != nil {
		return true, nil, err
	}
	o, err = s.kinds.metadataOfRead(o)
	return true, o, err
}

func (s *Server) note(action clienttesting.Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actions = append(s.actions, action)
}

// Actions are what clients have asked for, in order; ForgetActions begins anew.
func (s *Server) Actions() []clienttesting.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.actions)
}

// ForgetActions forgets what clients have asked for.
func (s *Server) ForgetActions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actions = nil
}

// Answer has a resource, or a subresource as "pods/eviction", answer creations by a function and store nothing.
func (s *Server) Answer(resource string, by func(*Request) (runtime.Object, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[resource] = by
}

func (s *Server) answerOf(r *Request) func(*Request) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := r.Resource.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	if r.Verb != "create" {
		return nil
	}
	return s.answers[resource]
}

// say what a subresource answers, if nothing befalls the request.
func (s *Server) say(r *Request, answer func(*Request) (runtime.Object, error)) (runtime.Object, error) {
	fault, err := s.begin(r)
	if err != nil {
		return nil, err
	}
	o, err := answer(r)
	if err != nil {
		return nil, err
	}
	return o, s.end(fault)
}

// Version is the resource version of the newest write.
func (s *Server) Version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.version
}

// Begin has so many writes be made before, of which nothing is left.
func (s *Server) Begin(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.version, s.store.cachedVersion, s.store.forgotten = version, version, version
}

// CachedVersion is that of the newest write which caches have seen.
func (s *Server) CachedVersion() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.cachedVersion
}

// Writes is how many writes the clients have tried.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Dead says whether a fault has ended the process of the clients. Revive begins a new one.
func (s *Server) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// Revive has the clients be those of a new process.
func (s *Server) Revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = false
}

// Stale is the lag of caches that see nothing of what happens.
const Stale = 1 << 30

// Lag has caches be behind by so many changes: what watches tell, and reads of resource version 0. With 0 they catch up.
func (s *Server) Lag(changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.lag = changes
	s.store.show(changes)
}

// Expire ends all watches with 410 Expired, and forgets the changes that one could begin at.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	expired := apierrors.NewResourceExpired("the server has restarted")
	s.store.forget()
	for _, w := range s.store.watches {
		w.send(watch.Event{Type: watch.Error, Object: &expired.ErrStatus})
		w.close()
	}
	s.store.watches = nil
}

// refused is what a request of a kind that is not answered gets.
func refused(r *Request) error {
	return apierrors.NewBadRequest(fmt.Sprintf("apifake: %s is not answered", r))
}
