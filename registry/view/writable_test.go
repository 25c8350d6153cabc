// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
)

// writable adds the writes of storage.Interface to a store, as upstream's suites need them. It ignores times to
// live.
type writable struct {
	*Store
	mu sync.Mutex
}

var _ storagetesting.InterfaceWithPrefixTransformer = (*writable)(nil)

// UpdatePrefixTransformer does nothing: the store does not encode objects at rest.
func (w *writable) UpdatePrefixTransformer(storagetesting.PrefixTransformerModifier) func() {
	return func() {}
}

func (w *writable) Create(_ context.Context, key string, obj, out runtime.Object, _ uint64) error {
	key, err := storage.PrepareKey(w.cfg.ResourcePrefix, key, false)
	if err != nil {
		return err
	}
	if version, err := w.Versioner().ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if current, _ := w.read(key); current != nil {
		return storage.NewKeyExistsError(key, 0)
	}
	return w.write(key, obj.DeepCopyObject(), out)
}

func (w *writable) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, _ storage.DeleteOptions) error {
	key, err := storage.PrepareKey(w.cfg.ResourcePrefix, key, false)
	if err != nil {
		return err
	}
	return w.transact(key, false, cached, func(object runtime.Object) (func() error, error) {
		if err := preconditions.Check(key, object); err != nil {
			return nil, err
		}
		if err := validate(ctx, object); err != nil {
			return nil, err
		}
		return func() error {
			revision, err := w.Apply([]Change{{Key: strings.TrimPrefix(key, w.cfg.ResourcePrefix)}})
			if err != nil {
				return err
			}
			copyInto(object, out)
			return w.Versioner().UpdateObject(out, revision)
		}, nil
	})
}

func (w *writable) GuaranteedUpdate(_ context.Context, key string, out runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	key, err := storage.PrepareKey(w.cfg.ResourcePrefix, key, false)
	if err != nil {
		return err
	}
	return w.transact(key, ignoreNotFound, cached, func(object runtime.Object) (func() error, error) {
		if err := preconditions.Check(key, object); err != nil {
			return nil, err
		}
		version, err := w.Versioner().ObjectResourceVersion(object)
		if err != nil {
			return nil, err
		}
		updated, _, err := update(object, storage.ResponseMeta{ResourceVersion: version})
		if err != nil {
			return nil, err
		}
		return func() error { return w.write(key, updated.DeepCopyObject(), out) }, nil
	})
}

// transact runs prepare on an object, then the returned commit if the object is still current. Otherwise it
// retries with the current object.
func (w *writable) transact(key string, ignoreNotFound bool, cached runtime.Object, prepare func(runtime.Object) (func() error, error)) error {
	object := cached
	for fresh := cached == nil; ; fresh = true {
		if fresh {
			var err error
			if object, err = w.read(key); err != nil {
				return err
			}
			if object == nil && !ignoreNotFound {
				return storage.NewKeyNotFoundError(key, 0)
			}
		}
		if object == nil {
			object = w.cfg.NewFunc()
		}
		base := object.DeepCopyObject()
		commit, err := prepare(base.DeepCopyObject())
		if err != nil {
			if fresh || w.isCurrent(key, base) {
				return err
			}
			continue
		}
		if done, err := w.commitOn(key, base, commit); done {
			return err
		}
	}
}

// commitOn runs commit if the stored object still equals base.
func (w *writable) commitOn(key string, base runtime.Object, commit func() error) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isCurrent(key, base) {
		return false, nil
	}
	return true, commit()
}

// isCurrent compares an object with the stored one. A missing object equals an empty one.
func (w *writable) isCurrent(key string, object runtime.Object) bool {
	current, err := w.read(key)
	if err == nil && current == nil {
		current = w.cfg.NewFunc()
	}
	return err == nil && equality.Semantic.DeepEqual(current, object)
}

func (w *writable) read(key string) (runtime.Object, error) {
	current := w.current.Load()
	element, err := current.get(key, current.revision)
	if err != nil || element == nil {
		return nil, err
	}
	return element.Object.DeepCopyObject(), nil
}

func (w *writable) write(key string, object, out runtime.Object) error {
	if _, err := w.Apply([]Change{{Key: strings.TrimPrefix(key, w.cfg.ResourcePrefix), Object: object}}); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	stored, err := w.read(key)
	if err != nil {
		return err
	}
	copyInto(stored, out)
	return nil
}

// advance takes a revision without a change, like a write to another resource in etcd.
func advance(s *Store) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.current.Load()
	next.revision++
	s.publish(&next)
	return next.revision
}

func increaseRV(s *Store) storagetesting.IncreaseRVFunc {
	return func(context.Context, *testing.T) int64 { return int64(advance(s)) }
}

// compaction drops the history up to a revision. As in etcd, it takes a revision itself.
func compaction(s *Store) storagetesting.Compaction {
	return func(_ context.Context, t *testing.T, resourceVersion string) {
		revision, err := s.parse(resourceVersion)
		if err != nil {
			t.Fatalf("compact: %v", err)
		}
		advance(s)
		s.mu.Lock()
		defer s.mu.Unlock()
		next := *s.current.Load()
		next.compactTo(revision)
		next.history = next.history[next.indexAfter(revision):]
		s.publish(&next)
	}
}

func copyInto(from, to runtime.Object) {
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
}
