// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prune is the subcommand prune: it removes from a node the revisions of a static pod that are no longer
// needed. A pruner pod runs it. It talks to no API server. The flags say what may be removed, but what
// controller/rollout/generation finds in use on the disk always stays.
//
// Everything runs on the caller's goroutine.
package prune
