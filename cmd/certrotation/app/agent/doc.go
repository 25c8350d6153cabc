// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the subcommand agent: a sidecar that acknowledges for a program of the same pod which does not do
// so itself (controller/agent).
//
// It serves /livez, /readyz and /metrics without TLS on --bind-address, to any client that reaches it: by default the
// containers of the pod. /readyz lists the problems in words. The answers contain paths, subjects, fingerprints and
// counts, and nothing of a key.
//
// Wrong flags end the command. Any other problem is reported until it is fixed.
//
// Run owns the goroutines: it returns when all that it started have ended.
package agent
