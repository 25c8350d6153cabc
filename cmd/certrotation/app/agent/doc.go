// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the subcommand agent: a sidecar that acknowledges for a program of the same pod which does not do so itself
// (controller/agent).
//
// /livez, /readyz and /metrics are served without TLS on --bind-address, to anybody who reaches it: by default the containers of
// the pod. /readyz says in words what is not as it should be. They tell paths, subjects, fingerprints and counts, and nothing of
// a key.
//
// What is wrong with the flags ends the command; whatever is wrong around it is a problem that lasts until it is put right.
//
// Goroutines are owned by Run: it returns when all that it started have ended.
package agent
