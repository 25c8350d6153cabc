// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package worker is the loop of a controller: workers that take keys from a fair queue and work on them.
//
// # Workers
//
// Invariants:
//
//   - One worker at a time works on a key, for at most Deadline.
//   - A panic becomes an error of its key, so that a bug which one object triggers does not stop the others.
//   - A failed key is retried with growing delays. Errors for which apply.Benign is true are not logged as faults.
//   - When ctx ends, running work is finished, but nothing else is started or retried: the next leader continues.
//
// Goroutines: Run starts the workers and returns when they have ended.
//
// # Fairness
//
// A queue orders its keys by namespace. A client-go workqueue is first come, first
// served. Ten thousand keys of one tenant, each hanging until its timeout, would hold all workers and block all other
// tenants. Here
//
//   - namespaces take turns: a key waits for at most one key of each other namespace at a time;
//   - a namespace holds at most Share of the workers, so of two or more workers, one is always left for others.
//
// Assume W workers; one namespace holds at most S = Share(W) of them. In N namespaces, every key takes its whole
// deadline D. Then the key of another namespace starts
//
//   - at once, if N*S < W, such as with one silent namespace and two workers or more;
//   - within D*(ceil(N/W)+1) otherwise: each worker is free again within D, and each of the N namespaces is served at
//     most once before it.
//
// Everything else is as in a workqueue. One worker at a time works on a key, and a key that is added meanwhile is
// worked on again. Depth, latency and retries are counted under the queue's name.
//
// Invariants:
//
//   - A worker calls Get again after each Done. So a key is found that waited for its namespace's share:
//     Done makes room for at most one more key, and its worker comes back for one.
package worker
