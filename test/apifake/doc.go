// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apifake is the API server of unit tests. It is one store behind the clients of the core groups, of
// certrotation's own groups, of APIServices, of metadata and of unstructured objects. It does what certrotation
// relies on and client-go's fake clients lack. Only one other test package has objects in memory behind clients:
// test/simulation has its own store, and says why.
//
// A write gets a UID, a name if it has only generateName, a time, a generation and a resource version that only
// grows. An update conflicts if its version is old or missing, or if its UID differs. So does a deletion whose
// preconditions do not hold. A write without a change makes no new version. The status is written only through its
// subresource. Immutable Secrets and ConfigMaps, and the type of a Secret, do not change. A dry run is answered but
// not stored. Reads obey label and field selectors, limits and resource versions. A watch begins where the client
// asks, with the existing objects and a bookmark on request. It ends with 410 Expired if its version is too old.
//
// A test can inject a named [Fault] into a request. [Server.Lag] delays caches: watches, and reads of resource
// version 0. [Server.Expire] ends all watches, as a restart of a server does. [Server.Answer] sets the answer of a
// subresource or a review that stores nothing.
//
// It has no validation, defaults, authorization, garbage collection, finalizers, graceful deletion or field managers.
// It answers an apply only for the status of a configuration. A namespace need not exist. It refuses an update
// without a resource version, because certrotation must not overwrite what it has not seen. The real server accepts
// that for Secrets and ConfigMaps. Tests of the missing features run against a real kube-apiserver (test/integration,
// test/e2e).
//
// A test's own requests ([Server.Put], [Server.Drop], [Get]) are not counted and meet no fault. Hooks may make them
// too, but must not use a client. A Server may be used from several goroutines and starts none. Set its hooks while
// no client makes requests.
package apifake
