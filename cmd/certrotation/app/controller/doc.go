// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the subcommand controller: it performs rotations, collects evidence and injects CA bundles
// into the objects by which kube-apiserver verifies its peers.
//
// Every replica watches, so that a new leader starts quickly; only the leader probes and writes. On SIGTERM the
// leader finishes the write in progress, releases the lease and exits with 0. A leader that loses the lease to
// another replica stops at once and exits with an error, so that it restarts from a clean state.
//
// /livez, /readyz and /metrics are served over TLS on --metrics-bind-address. Without certificate files the
// certificate is made in memory. Every client may read health. Metrics name namespaces and objects, so only clients
// that the API server authorizes may read them (app/process). The default is the loopback address; in a pod set it to
// :10270. There is no /debug.
//
// controller/dial connects to the addresses that a configuration names. --allowed-cidrs and --denied-cidrs extend and
// restrict its defaults.
//
// Run owns the goroutines: it returns when all that it started have ended.
package controller
