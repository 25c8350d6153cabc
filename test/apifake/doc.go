// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apifake is the API server of unit tests: one store behind the clients of the core groups, of our own groups, of
// APIServices, of metadata and of unstructured objects, with what our code relies on and client-go's fake clients lack. No
// other package of tests has objects in memory that clients ask for; test/simulation has a store of its own, and says why.
//
// What is written gets a UID, a name if it has only generateName, a time, a generation and a resource version that only
// grows. An update on an old version, of another UID or without any version conflicts, and so does a deletion whose
// preconditions do not hold. A write that changes nothing makes no version. The status is written through its subresource
// alone. Immutable Secrets and ConfigMaps, and the type of a Secret, do not change. A dry run is answered and not done.
// Label and field selectors, limits and resource versions of reads count. A watch begins where it is asked to, with what
// there is and a bookmark if it asks for that, and ends with 410 Expired if its version is too old.
//
// A named [Fault] befalls a request when a test says so. [Server.Lag] has the caches be behind: watches, and reads of
// resource version 0. [Server.Expire] ends all watches, as a server does that restarts. [Server.Answer] says what a
// subresource or a review answers that stores nothing.
//
// Not here are validation and defaults, authorization, garbage collection, finalizers and graceful deletion, and field
// managers: an apply is answered for the status of a configuration only. A namespace need not exist. An update without a
// resource version, which the real server takes for Secrets and ConfigMaps, is refused: no code of ours may overwrite what
// it has not seen. Tests of those run against a real kube-apiserver (test/integration, test/e2e).
//
// Requests of a test itself ([Server.Put], [Server.Drop], [Server.Get]) count as nobody's and meet no fault; hooks may make
// them too, but no requests by a client. A Server may be used from several goroutines and has none; its hooks are set before
// or while nobody asks.
package apifake
