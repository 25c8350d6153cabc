// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recover is the command `certrotation recover`: it brings a static pod back whose certificates do not work, without
// an API server: to the last generation that a quorum accepts, or to one that it makes of the expired one.
//
// It exits with 0 if it did what it could or nothing was to be done, 1 if it could not, and 2 for a wrong command line. It
// starts no goroutine of its own.
package recover
