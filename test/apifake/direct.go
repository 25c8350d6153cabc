// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"cmp"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Put creates or replaces an object as another client would, whatever its resource version is. It keeps the object's
// UID, times and status.
func (s *Server) Put(o runtime.Object) error {
	k, stored, err := s.addressed(o)
	if err != nil {
		return err
	}
	stored = stored.DeepCopyObject().(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.store.get(k)
	if stored.GetUID() == "" {
		stored.SetUID(types.UID(fmt.Sprintf("uid-%d", s.store.version+1)))
		if live != nil {
			stored.SetUID(live.GetUID())
		}
	}
	if created := stored.GetCreationTimestamp(); created.IsZero() {
		stored.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
		if live != nil {
			stored.SetCreationTimestamp(live.GetCreationTimestamp())
		}
	}
	s.store.put(k, stored)
	return nil
}

// Drop deletes an object as another client would. It uses only the object's type, namespace and name.
func (s *Server) Drop(o runtime.Object) error {
	k, _, err := s.addressed(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store.get(k) == nil {
		return apierrors.NewNotFound(k.GroupResource(), k.Name)
	}
	s.store.remove(k)
	return nil
}

// addressed returns an object in the type of its kind, with its key.
func (s *Server) addressed(o runtime.Object) (key, object, error) {
	resource, err := s.kinds.resourceOf(o)
	if err != nil {
		return key{}, nil, err
	}
	accessor, err := meta.Accessor(o)
	if err != nil {
		return key{}, nil, fmt.Errorf("store %T: %w", o, err)
	}
	stored, ok := o.(object)
	if !ok {
		return key{}, nil, fmt.Errorf("store %T: it has no metadata of its own", o)
	}
	if stored, err = s.kinds.typed(stored); err != nil {
		return key{}, nil, err
	}
	return key{GroupVersionResource: resource, NamespacedName: types.NamespacedName{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}}, stored, nil
}

// Side is the state of the objects to read.
type Side bool

const (
	// Live is the current state.
	Live Side = false
	// Cached is the state that caches have seen.
	Cached Side = true
)

// Get returns the current object with the type, namespace and name of like, without a request. The kind of an
// unstructured like is the type. It reports whether the object exists.
func Get[T object](s *Server, like T) (T, bool) {
	var none T
	k, _, err := s.addressed(like)
	if err != nil {
		return none, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.store.get(k)
	if live == nil {
		return none, false
	}
	return shown[T](s.kinds, live)
}

// All returns the objects of a type in a namespace, sorted by name, without a request. An empty namespace means all.
func All[T object](s *Server, from Side, like T, namespace string) []T {
	k, _, err := s.addressed(like)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	objects, _ := s.store.all(k.GroupVersionResource, bool(from))
	var out []T
	for _, o := range objects {
		if namespace != "" && o.GetNamespace() != namespace {
			continue
		}
		if o, ok := shown[T](s.kinds, o); ok {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(placeOf(a), placeOf(b)) })
	return out
}
