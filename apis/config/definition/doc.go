// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition validates objects by the CustomResourceDefinitions of manifests/crds, as an API server does: the
// schema, sets and maps in lists, and then the CEL rules. So a rule is written once, as a marker of a type, and holds
// for objects of files and for objects that were stored under an earlier definition.
//
// The package knows no types of the API, starts no goroutine, and reads nothing but the embedded manifests.
package definition
