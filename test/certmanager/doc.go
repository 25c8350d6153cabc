// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certmanager runs the controllers of cert-manager as a process, on a control plane of package cluster, and makes the objects
// that they act on. `hack/build-tools.sh cert-manager` builds the program, and its CustomResourceDefinitions, from cert-manager's module.
//
// There is no webhook: only the schema validates objects. The controllers have the rights of a cluster administrator.
package certmanager
