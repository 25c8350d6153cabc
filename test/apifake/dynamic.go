// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newDynamic returns a client of unstructured objects. The server stores them in the type of their kind, and drops
// fields that the type lacks.
func (s *Server) newDynamic() dynamic.Interface {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(s.kinds.lists, nil)
	client.PrependReactor("*", "*", s.reactDynamic)
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		watched, err := s.watch(action, s.kinds.unstructuredOf)
		return true, watched, err
	})
	return client
}

func (s *Server) reactDynamic(action clienttesting.Action) (bool, runtime.Object, error) {
	s.note(action)
	r := requestOf(action)
	if sent, ok := r.Object.(object); ok {
		typed, err := s.kinds.typed(sent)
		if err != nil {
			return true, nil, apierrors.NewBadRequest(err.Error())
		}
		r.Object = typed
	}
	o, err := s.respond(r, action)
	if err != nil {
		return true, nil, err
	}
	o, err = s.kinds.unstructuredOfRead(o)
	return true, o, err
}

// typed returns an object in the type of its kind.
func (k *kinds) typed(o object) (object, error) {
	sent, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	typed, err := k.scheme.New(sent.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("make a %s: %w", sent.GetKind(), err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sent.Object, typed); err != nil {
		return nil, fmt.Errorf("read the %s %s: %w", sent.GetKind(), sent.GetName(), err)
	}
	typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return typed.(object), nil
}

// unstructuredOf returns an object as the dynamic client sees it.
func (k *kinds) unstructuredOf(o runtime.Object) (runtime.Object, error) {
	known, _, err := k.scheme.ObjectKinds(o)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(known[0])
	return out, nil
}

// unstructuredOfRead returns an object or a list as the dynamic client sees it.
func (k *kinds) unstructuredOfRead(o runtime.Object) (runtime.Object, error) {
	out, err := k.unstructuredOf(o)
	if err != nil || !meta.IsListType(o) {
		return out, err
	}
	list, err := out.(*unstructured.Unstructured).ToList()
	if err != nil {
		return nil, err
	}
	kind := list.GroupVersionKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind)
	}
	return list, nil
}

// shown returns an object in the type that a test asks for, its own or unstructured. It reports whether that is
// possible.
func shown[T object](k *kinds, o object) (T, bool) {
	var like T
	if _, ok := any(like).(*unstructured.Unstructured); !ok {
		return o.DeepCopyObject().(T), true
	}
	out, err := k.unstructuredOf(o.DeepCopyObject())
	if err != nil {
		return like, false
	}
	return out.(T), true
}
