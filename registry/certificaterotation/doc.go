// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificaterotation serves the virtual resource certificaterotations: get, list and watch from a view store,
// and the subresources rotate, abort, acknowledge and waive.
//
// The resource itself has no create, update or delete, and must not get any: a namespace controller, the garbage collector
// and quotas act on what discovery advertises, and would try to delete what cannot be deleted. A test holds this.
//
// Users make requests through the subresources, each with RBAC of its own. These do not change certificates: they write
// RotationRecords, that is a request (rotate, abort), the report of a process (acknowledge) or a waiver (waive). The
// API server checks that write with its own admission chain, and the controller acts on the record. registry/trust
// decides whether a request is accepted; its refusals become 409 Conflict with its text. Who reports for a member that is a
// pod is told by the pod that the token is bound to, which the API server says in the extras of the user.
//
// A request that wrote something is answered once the inventory of this replica has seen the write, or with a warning
// when that takes too long. The package starts no goroutine.
package certificaterotation
