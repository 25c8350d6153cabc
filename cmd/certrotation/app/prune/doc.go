// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prune is the subcommand prune: it removes from a node the revisions of a static pod that nothing needs any more.
// It is what a pruner pod runs, and it talks to no API server. What may be removed is decided by the flags, and by what
// controller/rollout/generation finds in use on the disk, which has the last word.
//
// Everything runs on the goroutine of the caller.
package prune
