// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// write executes a write of a client, or fails it with the injected fault.
func (s *Server) write(r *Request, action clienttesting.Action) (runtime.Object, error) {
	if err := s.look(r, action); err != nil {
		return nil, err
	}
	fault, err := s.begin(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	o, err := s.perform(r, action)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if s.Stored != nil && !r.DryRun {
		s.Stored(r)
	}
	return o, s.end(fault)
}

// look sets the object of a request before the hooks see it. Only a creation may name a missing object.
func (s *Server) look(r *Request, action clienttesting.Action) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return ErrCrash
	}
	live := s.store.get(r.key())
	switch action := action.(type) {
	case clienttesting.CreateActionImpl, clienttesting.UpdateActionImpl:
		sent, ok := r.Object.(object)
		if !ok {
			return refused(r)
		}
		r.Object = sent.DeepCopyObject().(object)
		return nil
	case clienttesting.DeleteActionImpl:
		if live == nil {
			return apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
		}
		r.Object = live.DeepCopyObject().(object)
		return nil
	case clienttesting.PatchActionImpl:
		if live == nil {
			return apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
		}
		changed, err := s.patched(live, &action)
		if err != nil {
			return err
		}
		r.Object = changed
		return nil
	}
	return refused(r)
}

func (r *Request) key() key {
	return key{GroupVersionResource: r.Resource, NamespacedName: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}}
}

// begin counts a write and gets its fault. It holds no lock, so that the hooks may use the server.
func (s *Server) begin(r *Request) (Fault, error) {
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		return NoFault, ErrCrash
	}
	s.writes++
	r.Number = s.writes
	s.mu.Unlock()
	if s.Admit != nil {
		if err := s.Admit(r); err != nil {
			return NoFault, err
		}
	}
	if s.Fault == nil {
		return NoFault, nil
	}
	fault := s.Fault(r)
	err := fault.Before(r.Resource.GroupResource(), r.Name)
	if err != nil {
		s.die(fault)
	}
	return fault, err
}

// end returns the client's answer to an executed write.
func (s *Server) end(fault Fault) error {
	s.die(fault)
	return fault.After()
}

func (s *Server) die(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = s.dead || fault.Kills()
}

// perform executes a write, and stores it unless it is a dry run. It returns a copy of the stored object.
func (s *Server) perform(r *Request, action clienttesting.Action) (runtime.Object, error) {
	o := r.Object.(object)
	switch action.(type) {
	case clienttesting.CreateActionImpl:
		return s.create(r, o)
	case clienttesting.DeleteActionImpl:
		return s.remove(r)
	}
	return s.update(r, o)
}

func (s *Server) create(r *Request, o object) (runtime.Object, error) {
	if r.Subresource != "" {
		return nil, refused(r)
	}
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(fmt.Sprintf("%s%05x", o.GetGenerateName(), s.store.version+1))
	}
	if o.GetName() == "" {
		return nil, apierrors.NewBadRequest("a name or generateName is required")
	}
	if o.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if r.Namespace != "" && o.GetNamespace() == "" {
		o.SetNamespace(r.Namespace)
	}
	if o.GetNamespace() != r.Namespace {
		return nil, apierrors.NewBadRequest("the namespace of the object does not match that of the request")
	}
	r.Name = o.GetName()
	if s.store.get(r.key()) != nil {
		return nil, apierrors.NewAlreadyExists(r.Resource.GroupResource(), r.Name)
	}
	prepareCreation(o)
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.store.version+1)))
	o.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
	return s.put(r, o)
}

func (s *Server) update(r *Request, o object) (runtime.Object, error) {
	live := s.store.get(r.key())
	if live == nil {
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	if have, want := live.GetResourceVersion(), o.GetResourceVersion(); have != want {
		return nil, apierrors.NewConflict(r.Resource.GroupResource(), r.Name, fmt.Errorf("it is %s, not %q", have, want))
	}
	if uid := o.GetUID(); uid != "" && uid != live.GetUID() {
		return nil, apierrors.NewConflict(r.Resource.GroupResource(), r.Name, fmt.Errorf("it is %s, not %s", live.GetUID(), uid))
	}
	if err := immutable(r, live, o); err != nil {
		return nil, err
	}
	o, err := prepareUpdate(r, live, o)
	if err != nil {
		return nil, err
	}
	if same(live, o) {
		return live.DeepCopyObject(), nil
	}
	return s.put(r, o)
}

func (s *Server) put(r *Request, o object) (runtime.Object, error) {
	if !r.DryRun {
		s.store.put(r.key(), o)
	}
	return o.DeepCopyObject(), nil
}

func (s *Server) remove(r *Request) (runtime.Object, error) {
	live := s.store.get(r.key())
	if live == nil {
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	if only := r.Preconditions; only != nil {
		if only.UID != nil && *only.UID != live.GetUID() {
			return nil, apierrors.NewConflict(r.Resource.GroupResource(), r.Name, fmt.Errorf("it is %s, not %s", live.GetUID(), *only.UID))
		}
		if only.ResourceVersion != nil && *only.ResourceVersion != live.GetResourceVersion() {
			return nil, apierrors.NewConflict(r.Resource.GroupResource(), r.Name, fmt.Errorf("it is %s, not %s", live.GetResourceVersion(), *only.ResourceVersion))
		}
	}
	if !r.DryRun {
		s.store.remove(r.key())
	}
	return live.DeepCopyObject(), nil
}
