// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view keeps virtual API objects in memory and serves them with the read semantics of
// k8s.io/apiserver/pkg/storage.Interface (v0.37): consistent, exact and not-older lists, paging at one revision,
// watches that resume, WatchList, bookmarks, and 410 for revisions that are too old.
//
// # Parts
//
// A Store holds one resource. A single writer (the projection) calls Apply; each change gets a
// revision of its own, and each call publishes one immutable state: a copy-on-write tree, the
// recent events, the bounds of what they cover. Get and GetList load the state and hold no
// lock. Old revisions are read by rewinding the current tree by the events since, so they cost
// nothing until someone asks. A watch is a goroutine that reads the events of the states at its
// own pace; the writer does not know it. One that falls behind the history is cut off, and
// neither the writer nor another watch ever waits for it. Each event is encoded once per format
// for all watches that keep up (runtime.CacheableObject).
//
// A Reader puts a Store behind the get, list and watch verbs of an API server, and no other.
//
// # Resource versions
//
// A revision is epoch<<24 | sequence, a decimal integer below 2^63 that only grows. Each store
// counts for itself; the stores of a replica may share an EpochSource, and then have different
// epochs. An epoch is unique among replicas, since it is the etcd revision of a write to this
// replica's Lease (LeaseEpochs), and later epochs are higher. Without an EpochSource all
// revisions are one sequence from 1 on.
//
//   - A revision of a foreign epoch is expired (410) for watches, exact and not-older reads:
//     what it stands for is unknown here. Clients list again.
//   - If the foreign epoch is higher than ours, the store first takes a new epoch, so that no
//     client sees revisions go down when it moves between replicas. This costs at most one
//     Lease write per 5 s, shared by all requests; others get 429 until then. It counts only if
//     the foreign epoch is not above the one that the write returned: an invented revision
//     cannot push the store. An epoch taken in vain is kept for the next one who needs it.
//   - Revisions of earlier epochs of this store stay valid as long as the history covers them.
//   - A revision that lies ahead in the current epoch is too large (504), at once: unlike a
//     cache, the store cannot be behind its own revisions.
//   - When the sequence is used up, Apply takes a new epoch.
//
// Before Start and MarkSynced reads answer 503 with a hint to retry.
//
// # History
//
// Events are dropped when a change arrives and there are more than Config.HistoryEvents (or
// twice the objects, if that is more), or when they are older than Config.HistoryAge.
//
// # Goroutines
//
// The store runs one goroutine per watch, and one while it takes an epoch for a request. Stop
// ends and awaits them all.
//
// # Conformance
//
// The tests run the suites that k8s.io/apiserver/pkg/storage/testing exports, with an adapter
// that turns writes into Apply. All of them are run but these:
//
//   - RunTestCreateWithTTL, RunTestGuaranteedUpdateWithTTL: objects of a view do not expire.
//   - RunTestTransformationFailure, RunTestWatchError, RunTestWatchWithUnsafeDelete,
//     RunWatchErrorIsBlockingFurtherEvents, RunTestGuaranteedUpdateChecksStoredData,
//     RunTestGetListWithErrorAggregation, RunTestGetListWithoutErrorAggregation,
//     RunTestDeleteExpectedTransformOrDecodeError,
//     RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError,
//     RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError: nothing is encoded at
//     rest that could be corrupt, stale or encrypted.
//
// RunTestListResourceVersionMatch and RunTestGuaranteedUpdate run with a transformer that does
// nothing, RunTestStats without sizes, and the counts of calls to etcd are not checked.
package view
