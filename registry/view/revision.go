// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
)

// A resource version is epoch<<sequenceBits | sequence. It is below 2^63 to fit the signed integers of continue
// tokens.
const (
	sequenceBits = 24
	maxSequence  = 1<<sequenceBits - 1
	// epochLimit is the first epoch that does not fit.
	epochLimit = 1 << (63 - sequenceBits)
	// firstRevision is where a store without epochs starts. Zero is not a resource version.
	firstRevision = 1
)

// epochStart returns the first revision of an epoch. It stands for the content of the store when it took the epoch;
// the first change of the epoch gets the revision after it.
func epochStart(epoch uint64) uint64 {
	return epoch << sequenceBits
}

func epochOf(revision uint64) uint64 {
	return revision >> sequenceBits
}

// checkEpoch returns an error if an epoch cannot follow the current one (0: none yet).
func checkEpoch(epoch, current uint64) error {
	switch {
	case epoch == 0 || epoch >= epochLimit:
		return fmt.Errorf("epoch %d is outside of 1..%d", epoch, uint64(epochLimit-1))
	case epoch <= current:
		return fmt.Errorf("epoch %d does not follow epoch %d", epoch, current)
	}
	return nil
}

// span is the range first..last of the revisions issued in one epoch.
type span struct {
	first, last uint64
}

func (s span) contains(revision uint64) bool {
	return s.first <= revision && revision <= s.last
}

// standing is how a store can serve a requested revision.
type standing int

const (
	// standingRetained revisions were issued here and the history reaches back to them.
	standingRetained standing = iota
	// standingCompacted revisions were issued here, but the history since then is incomplete.
	standingCompacted
	// standingFuture revisions are ahead in the current epoch.
	standingFuture
	// standingForeign revisions come from another replica, or were invented by the client.
	standingForeign
	// standingAhead revisions are foreign and of a later epoch than the current one.
	standingAhead
)

// admit returns the state that serves a request for a revision. If exact, the history must reach back to that
// revision; otherwise any state that is not older will do. A revision that another replica issued is expired, because
// its content is unknown here.
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

// admitMinimum is admit for a request that wants a state not older than a resource version. "" and "0" accept any
// state.
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
