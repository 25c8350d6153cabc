// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac holds the roles of the manifests against what was agreed upon: testdata has every rule of every role with the
// reason that the manifest gives for it (-update writes it), and the tests say what no role may ever have. What is rendered
// is looked at as well as what is written, because an overlay can give away what the base does not.
//
// There are no goroutines.
package rbac
