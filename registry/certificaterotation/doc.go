// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificaterotation serves the virtual resource certificaterotations: get, list and watch from a view
// store, and the subresources rotate, abort, acknowledge, waive, csr and install.
//
// The resource itself must not get create, update or delete; a test enforces this. The namespace controller, the
// garbage collector and quotas act on what discovery advertises, and would try to delete what cannot be deleted.
//
// Each subresource has its own RBAC. None changes certificates: each but csr writes a RotationRecord, which is a request
// (rotate, abort, install), a process's report (acknowledge) or a waiver (waive). The API server's admission chain checks that
// write, and the controller acts on the record. registry/trust accepts or refuses; a refusal becomes 409 Conflict
// with its text. For a member that is a pod, the reporter is the pod that the token is bound to, from the user's
// extras.
//
// A request that wrote a record returns once this replica's inventory has observed it, or with a warning after a
// timeout. The package starts no goroutine.
package certificaterotation
