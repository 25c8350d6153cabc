// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor is the command `certrotation doctor`: it says what on the disk of a node does not fit together, and what
// the node needs. It needs no API server and writes nothing.
//
// It exits with 0 if nothing is an error, 1 if something is, or if it could not look, and 2 for a wrong command line. It
// starts no goroutine of its own.
package doctor
