// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
)

// admit returns the state to serve a request from that brought along a revision. If exact,
// the history must reach back to it; otherwise any state that is not older will do. A
// revision of another replica is expired: what it stands for is unknown here.
func (s *Store) admit(ctx context.Context, revision uint64, exact bool, expired string) (*state, error) {
	current, err := s.readable()
	if err != nil {
		return nil, err
	}
	switch current.standingOf(revision) {
	case standingRetained:
		return current, nil
	case standingCompacted:
		if !exact {
			return current, nil
		}
	case standingFuture:
		return nil, storage.NewTooLargeResourceVersionError(revision, current.revision, retrySeconds)
	case standingForeign:
	case standingAhead:
		if err := s.overtake(ctx, epochOf(revision)); err != nil {
			return nil, err
		}
	}
	return nil, apierrors.NewResourceExpired(expired)
}

// admitMinimum is admit for the textual resource version of a request that wants a state that
// is not older; "" and "0" want none in particular.
func (s *Store) admitMinimum(ctx context.Context, resourceVersion, expired string) (*state, error) {
	minimum, err := s.parse(resourceVersion)
	if err != nil {
		return nil, err
	}
	if minimum == 0 {
		return s.readable()
	}
	return s.admit(ctx, minimum, false, expired)
}

// parse returns the revision of a resource version, 0 for none.
func (s *Store) parse(resourceVersion string) (uint64, error) {
	revision, err := s.cfg.Versioner.ParseResourceVersion(resourceVersion)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	return revision, nil
}
