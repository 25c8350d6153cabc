// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

var _ storage.Interface = (*Store)(nil)

// Versioner implements storage.Interface.
func (s *Store) Versioner() storage.Versioner {
	return s.cfg.Versioner
}

// Create is refused: only Apply creates objects.
func (s *Store) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	return apierrors.NewMethodNotSupported(s.cfg.Resource, "create")
}

// Delete is refused: only Apply deletes objects.
func (s *Store) Delete(context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object, storage.DeleteOptions) error {
	return apierrors.NewMethodNotSupported(s.cfg.Resource, "delete")
}

// GuaranteedUpdate is refused: only Apply changes objects.
func (s *Store) GuaranteedUpdate(context.Context, string, runtime.Object, bool, *storage.Preconditions, storage.UpdateFunc, runtime.Object) error {
	return apierrors.NewMethodNotSupported(s.cfg.Resource, "update")
}

// Stats returns the number of objects. Sizes are not estimated.
func (s *Store) Stats(context.Context) (storage.Stats, error) {
	current, err := s.readable()
	if err != nil {
		return storage.Stats{}, err
	}
	return storage.Stats{ObjectCount: current.count}, nil
}

// ReadinessCheck returns an error until the store serves reads.
func (s *Store) ReadinessCheck() error {
	if !s.Synced() {
		return storage.ErrStorageNotReady
	}
	return nil
}

// RequestWatchProgress does nothing: a watch of this store does not wait for progress notifications.
func (s *Store) RequestWatchProgress(context.Context) error {
	return nil
}

// GetCurrentResourceVersion returns the latest revision.
func (s *Store) GetCurrentResourceVersion(context.Context) (uint64, error) {
	current, err := s.readable()
	if err != nil {
		return 0, err
	}
	return current.revision, nil
}

// EnableResourceSizeEstimation is accepted and ignored.
func (s *Store) EnableResourceSizeEstimation(storage.KeysFunc) error {
	return nil
}

// CompactRevision returns the oldest revision that can still be read exactly, or 0 before history was dropped.
func (s *Store) CompactRevision() int64 {
	current := s.current.Load()
	if current == nil {
		return 0
	}
	return int64(current.compacted)
}
