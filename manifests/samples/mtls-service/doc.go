// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mtls-service is the sample of certrotation: one mutual TLS server and its clients, as real programs. Each
// watches its own leaf Secret and the bundle ConfigMap, swaps both in as soon as they change, and the clients report
// what they have loaded to the subresource acknowledge of the signer. Clients open new connections all the time, so
// that every handshake proves both directions of trust.
//
// Every program serves its counters as JSON at /stats. /hold and /resume on the same listener (POST) stop and resume
// reloading: a program that does not reload is what a rotation must wait for.
//
// Goroutines: one informer for each watched object, the stats listener, and either the TLS listener with a goroutine
// for each connection or the dialling loop. All end with the command's context.
package main
