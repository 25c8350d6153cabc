// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view keeps virtual API objects in memory and serves them with the read semantics of
// k8s.io/apiserver/pkg/storage.Interface (v0.37): consistent, exact and not-older lists, paging at one revision,
// watches that resume, WatchList, bookmarks, and 410 for revisions that are too old.
//
// # Parts
//
// A Store holds one resource. Its single writer, the projection, calls Apply. Each change gets its own revision, and
// each call publishes one immutable state: a copy-on-write tree, the recent events, and the range that they cover.
// Get and GetList load the state and hold no lock. They read an old revision by rewinding the current tree by the
// events since, so old revisions cost nothing until a client asks.
//
// A watch is a goroutine that reads the events at its own pace. The writer does not know the watches, and neither it
// nor another watch ever waits for one. A watch that falls behind the history is cut off. Each event is encoded once
// per format for all watches that keep up (runtime.CacheableObject).
//
// A Reader serves a Store through the get, list and watch verbs of an API server, and through no other verb.
//
// # Resource versions
//
// A revision is epoch<<24 | sequence, a decimal integer below 2^63 that only grows. Each store counts for itself;
// stores that share the EpochSource of a replica have different epochs. An epoch is the etcd revision of a write to
// the replica's Lease (LeaseEpochs), so it is unique among replicas, and later epochs are higher. Without an
// EpochSource all revisions are one sequence from 1 on.
//
//   - A revision of a foreign epoch is expired (410) for watches, exact and not-older reads: its content is unknown
//     here. Clients list again.
//   - If the foreign epoch is higher than the store's, the store first takes a new epoch. Revisions then never go
//     down for a client that moves between replicas. All requests share at most one Lease write per 5 s; until then
//     others get 429. A foreign epoch above the one that the write returned has no effect: an invented revision
//     cannot push the store. The store keeps an unused epoch for the next request that needs one.
//   - Revisions of earlier epochs of this store stay valid as long as the history covers them.
//   - A revision ahead in the current epoch is too large (504), at once: unlike a cache, the store cannot lag behind
//     its own revisions.
//   - When the sequence is used up, Apply takes a new epoch.
//
// Before Start and MarkSynced reads answer 503 with a hint to retry.
//
// # History
//
// A change drops the oldest events beyond Config.HistoryEvents (or twice the objects, if that is more). It also drops
// events older than Config.HistoryAge.
//
// # Goroutines
//
// The store runs one goroutine per watch, and one while it takes an epoch for a request. Stop ends them and waits.
//
// # Conformance
//
// The tests run the suites of k8s.io/apiserver/pkg/storage/testing with an adapter that turns writes into Apply,
// except:
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
// RunTestListResourceVersionMatch and RunTestGuaranteedUpdate run with a transformer that does nothing, RunTestStats
// without sizes. The counts of calls to etcd are not checked.
package view
