// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package survey finds what is wrong with certificates that nobody has described: which CA signed what, and which trust
// anchors belong to which leaf, follows from signatures, names and places alone.
//
// Invariants:
//
//   - Everything is a pure function of what was added and of the time. There is no I/O.
//   - Rules of X.509 are those of registry/pki. A relation is reported as broken only if no verifier would accept it.
//   - A certificate is judged once, however many places hold it.
//   - A private key is compared with its certificate in the call that brings it, and not kept. No finding quotes one.
//   - A leaf without a CA that is known to verify it is no finding: the CA may be public.
//
// The package starts no goroutine. A Survey is for one goroutine.
package survey
