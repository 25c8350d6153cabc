// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is the order in which the workers of a controller turn to namespaces. A workqueue of client-go is first
// come, first served: ten thousand keys of one tenant, each of which hangs until its timeout, would hold all workers and stand
// before everybody else. Here
//
//   - namespaces take turns: a key waits for at most one key of each other namespace at a time, however many they have;
//   - a namespace holds at most Share of the workers, so that where there are two or more, one is always left for others.
//
// With W workers, of which one namespace holds at most S = Share(W), and N namespaces all of whose keys take as long as a key
// may (D, the deadline of the controller's look), the key of another namespace begins
//
//   - at once, if N*S < W, as for one silent namespace where there are two workers or more;
//   - within D*(ceil(N/W)+1) otherwise: each of the W workers is free again within D, and each of the N is served once before
//     it at most.
//
// Everything else is that of a workqueue: a key is worked on by one worker at a time, a key that is added meanwhile is
// worked on again, and depth, latency and retries are counted under the queue's name.
//
// Invariants:
//
//   - A worker calls Get again after each Done. That is how a key which waited for the share of its namespace is found: Done
//     makes room for one more key at most, and the worker that has called it comes back for one.
//
// The package starts no goroutine.
package fairqueue
