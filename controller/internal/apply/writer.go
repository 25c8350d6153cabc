// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/record"
)

// Verbs of write requests.
const (
	VerbCreate = "create"
	VerbUpdate = "update"
	VerbDelete = "delete"
)

// Object of the API, such as a *corev1.Secret.
type Object[T any] interface {
	metav1.Object
	DeepCopy() T
}

// Client is a generated client of one resource in one namespace.
type Client[T any] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// By identifies the writer.
type By struct {
	// FieldManager owns what is written.
	FieldManager string
	// Count is called for each write request. It may be nil.
	Count func(verb, resource, result string)
}

// Wrote counts a write request and wraps its error in a WriteError.
func (b By) Wrote(verb, resource string, err error) error {
	if b.Count != nil {
		b.Count(verb, resource, Result(err))
	}
	if err == nil {
		return nil
	}
	return &WriteError{Verb: verb, Err: record.Explain(err)}
}

// Writer writes the objects of one resource in one namespace. Create one with To.
type Writer[T Object[T]] struct {
	client   Client[T]
	resource string
	by       By
}

// To returns a Writer of a client. resource is its name in metrics.
func To[T Object[T]](client Client[T], resource string, by By) Writer[T] {
	return Writer[T]{client: client, resource: resource, by: by}
}

// Versions for Write, besides a resource version.
const (
	// Absent means that the object must not exist yet.
	Absent = ""
	// Any means that the object may exist in any version, or not at all.
	Any = "*"
)

// Write writes the object named like empty if it has the given version: Absent, Any, or the resource version that a
// decision was based on. change gets a copy of the object, or empty if it does not exist. Write returns the resulting
// object, and whether it sent a write.
func (w Writer[T]) Write(ctx context.Context, empty T, version string, change func(object T, exists bool) error) (_ T, wrote bool, err error) {
	live, exists := empty, false
	if version != Absent {
		if live, exists, err = w.Get(ctx, empty.GetName()); err != nil {
			return empty, false, err
		}
	}
	if version != Absent && version != Any && (!exists || live.GetResourceVersion() != version) {
		return empty, false, fmt.Errorf("%s is not version %s any more: %w", empty.GetName(), version, ErrStale)
	}
	if !exists {
		if err := change(empty, false); err != nil {
			return empty, false, err
		}
		written, err := w.Create(ctx, empty)
		return written, true, err
	}
	changed := live.DeepCopy()
	if err := change(changed, true); err != nil {
		return live, false, err
	}
	if equality.Semantic.DeepEqual(live, changed) {
		return live, false, nil
	}
	written, err := w.Update(ctx, changed)
	if version != Any {
		err = Stale(err)
	}
	return written, true, err
}

// Replace creates an immutable object. It first deletes an existing object that is outdated; outdated may refuse that
// with an error.
func (w Writer[T]) Replace(ctx context.Context, wanted T, outdated func(live T) (bool, error)) error {
	live, exists, err := w.Get(ctx, wanted.GetName())
	if err != nil {
		return err
	}
	if exists {
		if anew, err := outdated(live); err != nil || !anew {
			return err
		}
		if err := w.Delete(ctx, live.GetName(), live.GetUID(), ""); err != nil {
			return err
		}
	}
	_, err = w.Create(ctx, wanted)
	return err
}

// Get reads an object and reports whether it exists.
func (w Writer[T]) Get(ctx context.Context, name string) (_ T, exists bool, _ error) {
	live, err := w.client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return live, false, nil
	}
	return live, err == nil, err
}

// Create creates an object.
func (w Writer[T]) Create(ctx context.Context, object T) (T, error) {
	written, err := w.client.Create(ctx, object, record.CreateOptions(w.by.FieldManager, nil))
	return written, w.by.Wrote(VerbCreate, w.resource, err)
}

// Update writes an object that was read. It fails if another writer has changed it since.
func (w Writer[T]) Update(ctx context.Context, object T) (T, error) {
	written, err := w.client.Update(ctx, object, record.UpdateOptions(w.by.FieldManager, nil))
	return written, w.by.Wrote(VerbUpdate, w.resource, err)
}

// Delete deletes an object. uid and version are preconditions unless they are empty.
func (w Writer[T]) Delete(ctx context.Context, name string, uid types.UID, version string) error {
	only := &metav1.Preconditions{}
	if uid != "" {
		only.UID = &uid
	}
	if version != "" {
		only.ResourceVersion = &version
	}
	return w.by.Wrote(VerbDelete, w.resource, w.client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: only}))
}
