// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cabundle keeps the caBundle of webhook configurations, APIServices and definitions of custom resources, and the
// trustBundle of ClusterTrustBundles, equal to the bundles that they ask for. Whether a target may have a bundle, and what it has to hold, is decided by registry/injection;
// this package only writes. The APIService of certrotation itself is one of the targets, and the only one unless
// Config.Every asks for all.
//
// Invariants:
//
//   - A target is written only if it says so by its annotation, and the configuration of the bundle agrees to it by name. Both
//     are read live before each write, with the bundle: of that version which the decision was about.
//   - Only the field of the CA bundle is changed, by an update with the resource version of what was read.
//   - What may not be injected leaves the target as it is, and an event on it says why.
//   - A kind that an API server need not serve is watched from when it is: that is asked at the start, and again while a
//     configuration names the kind, on which an event says so. One that ceases to be served is missed after a restart.
//   - Targets are watched by their metadata. The content is read when a target that asks for a bundle has changed, and before
//     a write: at rest nothing is read or written.
//
// Goroutines: Run starts the watches and the workers, and ends when they have. NamespaceChanged may be called from
// anywhere at any time.
package cabundle
