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

// Server holds the objects. Make one with New.
type Server struct {
	// Client serves the core groups. Own serves configurations, records and rotations.
	Client kubernetes.Interface
	Own    versioned.Interface
	// Aggregator serves APIServices.
	Aggregator aggregator.Interface
	// Dynamic serves all of these and CustomResourceDefinitions. Metadata serves their metadata.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface

	// Admit may change an object before it is written, or refuse it with its own error.
	Admit func(*Request) error
	// Fault returns the fault of a write. ReadFault returns the fault of a read or of the start of a watch.
	Fault, ReadFault func(*Request) Fault
	// Stored is called after each executed write, before the client gets its answer.
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

// T is the test of a server: a testing.TB or a rapid.T.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// New returns a server with the objects.
func New(t T, c clock.PassiveClock, objects ...runtime.Object) *Server {
	t.Helper()
	kinds, err := served()
	if err != nil {
		t.Fatalf("make an API server: %v", err)
	}
	s := &Server{clock: c, kinds: kinds, store: newStore(), answers: map[string]func(*Request) (runtime.Object, error){}}
	// Not by the constructors: their clientsets track managed fields, and make a REST mapper at every write for that.
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

// whole returns a copy of an object without a change of form.
func whole(o runtime.Object) (runtime.Object, error) { return o.DeepCopyObject(), nil }

func (s *Server) react(action clienttesting.Action) (bool, runtime.Object, error) {
	s.note(action)
	o, err := s.respond(requestOf(action), action)
	return true, o, err
}

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

// reactMetadata answers a read of metadata. No code writes metadata.
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

// Actions returns the requests of all clients in order, since the last ForgetActions.
func (s *Server) Actions() []clienttesting.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.actions)
}

// ForgetActions clears Actions.
func (s *Server) ForgetActions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actions = nil
}

// Answer makes a resource, or a subresource such as "pods/eviction", answer creations by a function and store nothing.
// A subresource answers reads so too.
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
	if r.Verb != "create" && (r.Verb != "get" || r.Subresource == "") {
		return nil
	}
	return s.answers[resource]
}

// say returns the answer of a subresource, unless a fault is injected.
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

// Version returns the resource version of the newest write.
func (s *Server) Version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.version
}

// Begin sets the resource version, as if so many earlier writes had left nothing.
func (s *Server) Begin(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.version, s.store.cachedVersion, s.store.forgotten = version, version, version
}

// CachedVersion returns the resource version of the newest write that caches have seen.
func (s *Server) CachedVersion() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.cachedVersion
}

// Writes returns the number of writes that clients have tried.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Dead reports whether a fault has ended the clients' process. Revive starts a new one.
func (s *Server) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// Revive makes the clients belong to a new process.
func (s *Server) Revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = false
}

// Stale is the lag of caches that see no change.
const Stale = 1 << 30

// Lag delays caches by that many changes: watches, and reads of resource version 0. With 0 they catch up.
func (s *Server) Lag(changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.lag = changes
	s.store.show(changes)
}

// Expire ends all watches with 410 Expired, and forgets the changes at which a watch could begin.
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

// refused returns the error of an unsupported request.
func refused(r *Request) error {
	return apierrors.NewBadRequest(fmt.Sprintf("apifake: %s is not answered", r))
}
