// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cabundle keeps the caBundle of webhook configurations, APIServices and CustomResourceDefinitions, and the
// trustBundle of ClusterTrustBundles, equal to the bundles that they ask for. registry/injection decides whether a
// target may have a bundle and what it must hold; this package only writes. The APIService of certrotation itself is
// one of the targets, and the only one without Config.Every.
//
// Invariants:
//
//   - A target is written only if its annotation asks for a bundle and the configuration of the bundle names the
//     target. The target, the configuration and the bundle are read live before each write. Bundle and configuration
//     must be the versions of the decision.
//   - An update changes only the CA bundle, with the resource version that was read.
//   - A refused injection leaves the target unchanged, and an event on the target states why.
//   - An API server need not serve every kind. Such a kind is watched once it is served. The controller asks at the
//     start, and again while a configuration names the kind; an event on that configuration reports the absence. If a
//     kind stops being served, only a restart notices.
//   - Targets are watched by their metadata. The content is read when a target that asks for a bundle changes, and
//     before a write. At rest nothing is read or written.
//
// Goroutines: Run starts the watches and the workers, and returns when they have ended. NamespaceChanged is safe from
// any goroutine at any time.
package cabundle
