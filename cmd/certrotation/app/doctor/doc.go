// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor is the command `certrotation doctor`: it reports inconsistencies on the disk of a node, and how to
// repair them. It needs no API server and writes nothing.
//
// It exits with 0 without errors among the findings, 1 with an error or if the examination failed, and 2 for a wrong
// command line. It starts no goroutine of its own.
package doctor
