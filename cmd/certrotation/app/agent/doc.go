// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent are the subcommands that run in the pods of a user: the sidecar agent, and the init container wait.
//
// # Agent
//
// A sidecar that acknowledges for a program of the same pod which does not do
// so itself (controller/agent).
//
// It serves /livez, /readyz and /metrics without TLS on --bind-address, to any client that reaches it: by default the
// containers of the pod. /readyz lists the problems in words. The answers contain paths, subjects, fingerprints and
// counts, and nothing of a key.
//
// Wrong flags end the command. Any other problem is reported until it is fixed.
//
// Run owns the goroutines: it returns when all that it started have ended.
//
// # Wait
//
// An init container that blocks a pod until kubelet mounts the content that the
// pod template names. kubelet may mount a cached Secret or ConfigMap that is older than the template, so without this
// gate a new pod may run with old content. Content later than the named one opens the gate too.
//
// It needs no API server.
package agent
