// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the subcommand controller: it performs the rotations, collects evidence and injects CA bundles into
// what kube-apiserver verifies others by.
//
// Every replica watches, so that a successor is quick; only the leader probes and writes. On SIGTERM the leader finishes
// the write in progress, releases the lease and exits with 0. When the lease is lost to another replica it stops at
// once and exits with an error, so that it is restarted from a clean state.
//
// /livez, /readyz and /metrics are served over TLS on --metrics-bind-address, with a certificate that is made in memory unless
// files are given. Health is for everybody, and metrics, which name namespaces and objects, for whoever the API server says
// may get them (app/ports). The default is the loopback address; in a pod set it to :10270. There is no /debug.
//
// Whoever a configuration names is dialled by controller/dial: --allowed-cidrs and --denied-cidrs say where that is more, or
// less, than what it permits by itself.
//
// Goroutines are owned by run: it returns when all that it started have ended.
package controller
