// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac checks the roles of the manifests against a reviewed list: testdata has every rule of every role with
// the reason that the manifest gives for it (-update writes it), and the tests say what no role may ever have. Rendered
// kustomizations are checked too, because an overlay can grant what the base does not.
//
// There are no goroutines.
package rbac
