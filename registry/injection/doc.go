// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package injection has the rules of what is written into the caBundle of webhook configurations, APIServices and
// definitions of custom resources, and into the trustBundle of ClusterTrustBundles: what such a target holds, which bundle it
// asks for, whether it may have that, and what it has to hold then. It consists of pure functions; controller/cabundle
// executes them.
//
// A caBundle decides whom kube-apiserver believes, a ClusterTrustBundle whom pods of any namespace do, so two have to agree,
// each by name:
//
//   - the target, by its annotation, which whoever may write the target gives;
//   - the bundle, by injectInto in the RotationConfiguration of a managed namespace, whose objects consent to it.
//
// Invariants:
//
//   - Nothing is made that does not exist: nobody could have agreed for it.
//   - An entry is never made empty, and one that is not proven to be outdated loses nothing: it gains the anchors of its
//     bundle at once, and loses one only if the bundle itself could lose it now (trust.AssessBundleCopy).
//   - What is withdrawn leaves the target as it is. An empty caBundle would be another answer to whom kube-apiserver believes,
//     and no safe one.
//   - What a target holds is read per entry: kube-apiserver verifies each webhook of a configuration by its own caBundle.
package injection
