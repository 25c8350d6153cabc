// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load reads configurations: from files, and from objects of the cluster. A configuration is valid if the
// CustomResourceDefinition admits it (package definition) and nothing is wrong that only Go can say
// (v1alpha1.Validate). No other package expands one.
//
// The API server has checked objects of the cluster by its own definition. They are checked again, as that may be an
// earlier one, or was when the object was written.
//
// The package starts no goroutine. It remembers the specs that the definition admitted last, by hash.
package load
