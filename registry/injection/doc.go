// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package injection has the rules for writing anchors into the caBundle of webhook configurations, APIServices and
// CustomResourceDefinitions, and into the trustBundle of ClusterTrustBundles. They decide what such a target holds,
// which bundle it asks for, whether it may have that, and which anchors it must hold then. All functions are pure;
// controller/cabundle executes them.
//
// A caBundle decides which servers kube-apiserver trusts; a ClusterTrustBundle does so for pods of any namespace. So
// two sides must agree, each by name:
//
//   - the target, by its annotation, which any writer of the target can set;
//   - the bundle, by injectInto in the RotationConfiguration of a managed namespace, whose objects consent to it.
//
// Invariants:
//
//   - Nothing creates a target: a missing object could not have agreed.
//   - An entry never becomes empty. It gains the anchors of its bundle at once. It loses an anchor only if the
//     bundle itself could lose it now (trust.AssessBundleCopy).
//   - A withdrawal leaves the target as it is. An empty caBundle would make kube-apiserver trust other servers,
//     which is not safe.
//   - Entries are read one by one: kube-apiserver verifies each webhook of a configuration by its own caBundle.
package injection
