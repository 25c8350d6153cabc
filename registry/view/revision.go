// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "fmt"

// A resource version is epoch<<sequenceBits | sequence, below 2^63 so that it also fits the
// signed integers of continue tokens.
const (
	sequenceBits = 24
	maxSequence  = 1<<sequenceBits - 1
	// epochLimit is the first epoch that does not fit.
	epochLimit = 1 << (63 - sequenceBits)
	// firstRevision is where a store without epochs starts; zero is not a resource version.
	firstRevision = 1
)

// epochStart returns the first revision of an epoch. It names the content that the store had
// when it took the epoch; the first change of the epoch gets the revision after it.
func epochStart(epoch uint64) uint64 {
	return epoch << sequenceBits
}

// epochOf returns the epoch of a revision.
func epochOf(revision uint64) uint64 {
	return revision >> sequenceBits
}

// checkEpoch refuses an epoch that cannot follow the current one (0: none yet).
func checkEpoch(epoch, current uint64) error {
	switch {
	case epoch == 0 || epoch >= epochLimit:
		return fmt.Errorf("epoch %d is outside of 1..%d", epoch, uint64(epochLimit-1))
	case epoch <= current:
		return fmt.Errorf("epoch %d does not follow epoch %d", epoch, current)
	}
	return nil
}

// span is the revisions first..last that were issued during one epoch.
type span struct {
	first, last uint64
}

func (s span) contains(revision uint64) bool {
	return s.first <= revision && revision <= s.last
}

// standing says what a store can do with a revision that a request brought along.
type standing int

const (
	// standingRetained revisions were issued here and the history reaches back to them.
	standingRetained standing = iota
	// standingCompacted revisions were issued here, but the history since is incomplete.
	standingCompacted
	// standingFuture revisions lie ahead in the current epoch.
	standingFuture
	// standingForeign revisions come from another replica, or from nowhere.
	standingForeign
	// standingAhead revisions are foreign and of a later epoch than the current one.
	standingAhead
)
