// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recover is the command `certrotation recover`: without an API server, it restores a static pod whose
// certificates do not work. It restores the last generation that a quorum accepts, or reissues the expired one.
//
// It exits with 0 if it succeeded or had nothing to do, 1 if it failed, and 2 for a wrong command line. It starts no
// goroutine of its own.
package recover
