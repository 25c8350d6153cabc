// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	_ runtime.CacheableObject   = (*sharedObject)(nil)
	_ metav1.ObjectMetaAccessor = (*sharedObject)(nil)
)

// sharedObject hands one object to many watchers. It is encoded once per format. It cannot be written to, because
// every accessor returns a copy.
type sharedObject struct {
	object    runtime.Object
	encodings sync.Map // runtime.Identifier -> *encoding
}

type encoding struct {
	once sync.Once
	raw  []byte
	err  error
}

func newSharedObject(object runtime.Object) *sharedObject {
	return &sharedObject{object: object}
}

// CacheEncode writes the encoding of the format id. It calls encode only for the first watcher of that format.
func (s *sharedObject) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	entry, found := s.encodings.Load(id)
	if !found {
		entry, _ = s.encodings.LoadOrStore(id, &encoding{})
	}
	e := entry.(*encoding)
	e.once.Do(func() {
		var buffer bytes.Buffer
		e.err = encode(s.GetObject(), &buffer)
		e.raw = buffer.Bytes()
	})
	if e.err != nil {
		return e.err
	}
	if splicer, ok := w.(runtime.Splice); ok {
		splicer.Splice(e.raw)
		return nil
	}
	_, err := w.Write(e.raw)
	return err
}

// GetObject returns a copy that the caller may change.
func (s *sharedObject) GetObject() runtime.Object {
	return s.object.DeepCopyObject()
}

// GetObjectMeta returns the metadata of a copy, or nil if the object has none.
func (s *sharedObject) GetObjectMeta() metav1.Object {
	object, ok := s.GetObject().(metav1.ObjectMetaAccessor)
	if !ok {
		return nil
	}
	return object.GetObjectMeta()
}

// GetObjectKind returns a copy of the kind.
func (s *sharedObject) GetObjectKind() schema.ObjectKind {
	kind := &metav1.TypeMeta{}
	kind.SetGroupVersionKind(s.object.GetObjectKind().GroupVersionKind())
	return kind
}

// DeepCopyObject returns a copy that shares nothing, not even the encodings.
func (s *sharedObject) DeepCopyObject() runtime.Object {
	return newSharedObject(s.GetObject())
}
