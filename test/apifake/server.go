// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	ownfake "certrotation.dev/generated/clientset/versioned/fake"
	ownscheme "certrotation.dev/generated/clientset/versioned/scheme"
)

// Server holds objects. Make one with New.
type Server struct {
	// Client has the core group, and Own the group of configurations and records.
	Client *fake.Clientset
	Own    *ownfake.Clientset
	// Admit may change what is about to be written, or refuse it.
	Admit func(*Write) error
	// Fault says what befalls a write.
	Fault func(*Write) Fault

	clock clock.PassiveClock
	// core and own hold the objects of the two groups.
	core, own clienttesting.ObjectTracker

	mu      sync.Mutex
	version int
	writes  int
	dead    bool
}

// New returns a server that is empty.
func New(c clock.PassiveClock) *Server {
	s := &Server{
		// Clientsets that a constructor makes track managed fields, for which they make a REST mapper at every write.
		Client: &fake.Clientset{}, Own: &ownfake.Clientset{}, clock: c,
		core: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder()),
		own:  clienttesting.NewObjectTracker(ownscheme.Scheme, ownscheme.Codecs.UniversalDecoder()),
	}
	for _, of := range []struct {
		client  *clienttesting.Fake
		tracker clienttesting.ObjectTracker
	}{{&s.Client.Fake, s.core}, {&s.Own.Fake, s.own}} {
		of.client.AddReactor("create", "*", s.write)
		of.client.AddReactor("update", "*", s.write)
		of.client.AddReactor("delete", "*", s.write)
		of.client.AddReactor("patch", "*", s.write)
		of.client.AddReactor("*", "*", clienttesting.ObjectReaction(of.tracker))
		of.client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
			watcher, err := of.tracker.Watch(action.GetResource(), action.GetNamespace())
			return true, watcher, err
		})
	}
	return s
}

// Version is the resource version of the newest write.
func (s *Server) Version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
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

// tracker holds the objects of a group.
func (s *Server) tracker(resource schema.GroupVersionResource) clienttesting.ObjectTracker {
	if resource.Group == configv1alpha1.GroupName {
		return s.own
	}
	return s.core
}

// resourceOf an object of one of the two groups.
func resourceOf(o runtime.Object) (schema.GroupVersionResource, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		kinds, _, err = ownscheme.Scheme.ObjectKinds(o)
	}
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("find the resource of %T: %w", o, err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource, nil
}

// stamp gives an object the next version, and a new one its identity.
func (s *Server) stamp(o metav1.Object) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version)))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
	}
}

// Put stores an object as somebody else would: it is created, or replaced whatever its version is.
func (s *Server) Put(o runtime.Object) error {
	resource, err := resourceOf(o)
	if err != nil {
		return err
	}
	o = o.DeepCopyObject()
	accessor, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamp(accessor)
	err = s.tracker(resource).Create(resource, o, accessor.GetNamespace())
	if apierrors.IsAlreadyExists(err) {
		err = s.tracker(resource).Update(resource, o, accessor.GetNamespace())
	}
	return err
}

// Drop deletes an object as somebody else would; only its type, namespace and name count.
func (s *Server) Drop(o runtime.Object) error {
	resource, err := resourceOf(o)
	if err != nil {
		return err
	}
	accessor, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	return s.tracker(resource).Delete(resource, accessor.GetNamespace(), accessor.GetName())
}

// write does a write of a client, or what befalls it.
func (s *Server) write(action clienttesting.Action) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return true, nil, ErrCrash
	}
	o, store, err := s.intended(action)
	if err != nil {
		return true, nil, err
	}
	accessor, err := meta.Accessor(o)
	if err != nil {
		return true, nil, err
	}
	s.writes++
	write := &Write{Number: s.writes, Verb: action.GetVerb(), Subresource: action.GetSubresource(), Resource: action.GetResource(), Object: accessor}
	if s.Admit != nil {
		if err := s.Admit(write); err != nil {
			return true, nil, err
		}
	}
	fault := NoFault
	if s.Fault != nil {
		fault = s.Fault(write)
	}
	if err := fault.before(write.Resource.GroupResource(), accessor.GetName()); err != nil {
		return true, nil, err
	}
	if err := store(); err != nil {
		return true, nil, err
	}
	s.dead = fault == CrashAfterWrite
	if err := fault.after(); err != nil {
		return true, nil, err
	}
	return true, o, nil
}

// intended is what a write is about, and how it is stored. An update or an apply of what does not exist fails at once.
func (s *Server) intended(action clienttesting.Action) (runtime.Object, func() error, error) {
	resource, namespace := action.GetResource(), action.GetNamespace()
	tracker := s.tracker(resource)
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		o := action.GetObject().DeepCopyObject()
		return o, func() error { return s.store(o, func() error { return tracker.Create(resource, o, namespace) }) }, nil
	case clienttesting.UpdateActionImpl:
		o := action.GetObject().DeepCopyObject()
		return o, func() error { return s.replace(resource, namespace, o) }, nil
	case clienttesting.DeleteActionImpl:
		live, err := tracker.Get(resource, namespace, action.GetName())
		return live, func() error { return s.remove(resource, namespace, live, action.DeleteOptions.Preconditions) }, err
	case clienttesting.PatchActionImpl:
		live, err := tracker.Get(resource, namespace, action.GetName())
		if err != nil {
			return nil, nil, err
		}
		changed, err := applied(action, live)
		return changed, func() error {
			return s.store(changed, func() error { return tracker.Update(resource, changed, namespace) })
		}, err
	}
	return nil, nil, fmt.Errorf("apifake: %s of %s is not answered", action.GetVerb(), resource.Resource)
}

// store stamps an object and stores it; if that fails nothing has happened.
func (s *Server) store(o runtime.Object, store func() error) error {
	accessor, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	s.stamp(accessor)
	if err := store(); err != nil {
		s.version--
		return err
	}
	return nil
}

func (s *Server) replace(resource schema.GroupVersionResource, namespace string, o runtime.Object) error {
	changed, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	found, err := s.tracker(resource).Get(resource, namespace, changed.GetName())
	if err != nil {
		return err
	}
	live, err := meta.Accessor(found)
	if err != nil {
		return err
	}
	if have, want := live.GetResourceVersion(), changed.GetResourceVersion(); have != want {
		return apierrors.NewConflict(resource.GroupResource(), changed.GetName(), fmt.Errorf("it is %s, not %s", have, want))
	}
	changed.SetUID(live.GetUID())
	return s.store(o, func() error { return s.tracker(resource).Update(resource, o, namespace) })
}

func (s *Server) remove(resource schema.GroupVersionResource, namespace string, o runtime.Object, only *metav1.Preconditions) error {
	live, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	if only != nil && (only.UID != nil && *only.UID != live.GetUID() || only.ResourceVersion != nil && *only.ResourceVersion != live.GetResourceVersion()) {
		return apierrors.NewConflict(resource.GroupResource(), live.GetName(), errors.New("it is another one"))
	}
	s.version++
	return s.tracker(resource).Delete(resource, namespace, live.GetName())
}

// applied is a server-side apply of the status of a configuration, by whoever owns all of it.
func applied(action clienttesting.PatchActionImpl, live runtime.Object) (runtime.Object, error) {
	configuration, ok := live.(*configv1alpha1.RotationConfiguration)
	if !ok || action.GetPatchType() != types.ApplyPatchType || action.GetSubresource() != "status" {
		return nil, fmt.Errorf("apifake: a %s of %s is not answered", action.GetPatchType(), action.GetResource().Resource)
	}
	var patch configv1alpha1.RotationConfiguration
	if err := json.Unmarshal(action.GetPatch(), &patch); err != nil {
		return nil, err
	}
	if patch.UID != configuration.UID {
		return nil, apierrors.NewConflict(action.GetResource().GroupResource(), action.GetName(), errors.New("it is another one"))
	}
	changed := configuration.DeepCopy()
	changed.Status = patch.Status
	return changed, nil
}
