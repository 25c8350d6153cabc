// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	btree "k8s.io/apiserver/pkg/storage/cacher/store"
)

// listRead is a list request with resolved options: the state and the revision to read, and the key to start from.
type listRead struct {
	selection
	state    *state
	revision uint64
	start    string
	limit    int64
}

type page struct {
	elements []*btree.Element
	// total counts all elements in the key range from the start on, selected or not.
	total int64
	// lastKey is the last key that was examined; more reports whether others follow.
	lastKey string
	more    bool
}

// GetList fills a list with the selected objects below a key, or with the one at the key. The items share maps and
// slices with the store, as in kube-apiserver's watch cache. Callers may set fields of the items themselves, but must
// not write through maps, slices or pointers.
func (s *Store) GetList(ctx context.Context, key string, opts storage.ListOptions, out runtime.Object) error {
	key, err := storage.PrepareKey(s.cfg.ResourcePrefix, key, opts.Recursive)
	if err != nil {
		return err
	}
	items, err := itemsOf(out)
	if err != nil {
		return err
	}
	read, err := s.resolveList(ctx, key, opts)
	if err != nil {
		return err
	}
	found, err := read.page()
	if err != nil {
		return fmt.Errorf("list %q: %w", key, err)
	}
	fill(items, found.elements)
	token, remaining, err := storage.PrepareContinueToken(found.lastKey, key, int64(read.revision), found.total, found.more, opts)
	if err != nil {
		return fmt.Errorf("continue token of %q: %w", key, err)
	}
	if err := s.cfg.Versioner.UpdateList(out, read.revision, token, remaining); err != nil {
		return fmt.Errorf("version of list %q: %w", key, err)
	}
	read.predicate.SetShardInfoOnList(out)
	return nil
}

// resolveList finds the state and the revision that the options ask for.
func (s *Store) resolveList(ctx context.Context, key string, opts storage.ListOptions) (*listRead, error) {
	exact, start, err := storage.ValidateListOptions(key, s.cfg.Versioner, opts)
	if err != nil {
		return nil, err
	}
	read := &listRead{selection: s.newSelection(key, opts), start: start, limit: opts.Predicate.Limit}
	if exact > 0 {
		read.revision = uint64(exact)
		read.state, err = s.admit(ctx, read.revision, true, listExpired)
		if apierrors.IsResourceExpired(err) && start != "" {
			err = newContinueExpired(start, key)
		}
		return read, err
	}
	if read.state, err = s.admitMinimum(ctx, opts.ResourceVersion, listExpired); err != nil {
		return nil, err
	}
	read.revision = read.state.revision
	return read, nil
}

// page collects the selected elements, up to the limit.
func (r *listRead) page() (*page, error) {
	candidates, err := r.candidates()
	if err != nil {
		return nil, err
	}
	result := &page{total: int64(len(candidates))}
	if r.limit <= 0 && r.predicate.Empty() {
		result.elements = candidates
		return result, nil
	}
	for _, element := range candidates {
		if r.limit > 0 && int64(len(result.elements)) == r.limit {
			result.more = true
			break
		}
		result.lastKey = element.Key
		if r.matches(element) {
			result.elements = append(result.elements, element)
		}
	}
	return result, nil
}

func (r *listRead) candidates() ([]*btree.Element, error) {
	if r.recursive {
		return r.state.list(r.key, r.start, r.revision)
	}
	element, err := r.state.get(r.key, r.revision)
	if err != nil || element == nil {
		return nil, err
	}
	return []*btree.Element{element}, nil
}

// itemsOf returns the settable slice of items of a list.
func itemsOf(list runtime.Object) (reflect.Value, error) {
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("items of %T: %w", list, err)
	}
	items, err := conversion.EnforcePtr(pointer)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("items of %T: %w", list, err)
	}
	if items.Kind() != reflect.Slice {
		return reflect.Value{}, errors.New("items of a list must be a slice")
	}
	return items, nil
}

// fill sets the items to the objects of the elements. It never sets nil, which would be null in JSON.
func fill(items reflect.Value, elements []*btree.Element) {
	items.Set(reflect.MakeSlice(items.Type(), len(elements), len(elements)))
	for i, element := range elements {
		items.Index(i).Set(reflect.ValueOf(element.Object).Elem())
	}
}

// Get copies the object at a key into out. With a resource version it reads a state that is not older. The caller
// owns the copy.
func (s *Store) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	key, err := storage.PrepareKey(s.cfg.ResourcePrefix, key, false)
	if err != nil {
		return err
	}
	current, err := s.admitMinimum(ctx, opts.ResourceVersion, getExpired)
	if err != nil {
		return err
	}
	target, err := conversion.EnforcePtr(out)
	if err != nil {
		return fmt.Errorf("copy %q: %w", key, err)
	}
	element, err := current.get(key, current.revision)
	if err != nil {
		return fmt.Errorf("get %q: %w", key, err)
	}
	if element == nil {
		if opts.IgnoreNotFound {
			return runtime.SetZeroValue(out)
		}
		return storage.NewKeyNotFoundError(key, int64(current.revision))
	}
	target.Set(reflect.ValueOf(element.Object.DeepCopyObject()).Elem())
	return nil
}
