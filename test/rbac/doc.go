// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac checks the roles of the manifests against a reviewed list. testdata has every rule of every role with
// the reason from the manifest (-update writes it). Other tests check what no role may ever grant. They also check
// rendered kustomizations, because an overlay can grant what the base does not.
//
// There are no goroutines.
package rbac
