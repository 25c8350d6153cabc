// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// Get copies the object at a key into out. A resource version asks for a state that is not
// older. The copy belongs to the caller.
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
