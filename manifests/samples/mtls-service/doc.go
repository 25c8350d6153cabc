// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mtls-service is the sample of certrotation: one mutual TLS server and its clients, as real programs. Each
// follows its own leaf Secret and the bundle ConfigMap, or that Secret alone (--bundle=), mounted in a pod and by the API elsewhere, swaps both in as soon as they
// change, and those that are of a relying party report what they have loaded to the subresource acknowledge of the signer: all by
// controller/reload. Clients open new connections all the time, so that every handshake proves both directions of trust.
//
// Servers and clients may be pods that come and go (manifests/samples/pods): a client then follows the ready endpoints of a
// Service, and what each has counted is added up by the command totals, which outlives them.
//
// The command webhook is the server of manifests/samples/webhook-server, which caller has called all the time, and writer writes
// through the kube-apiservers of manifests/samples/hosted-etcd, and looks for what they have acknowledged.
//
// With --trust-store a program is like most databases: it reads its leaf and a PKCS#12 trust store when it starts, and never again.
//
// Every program serves its counters as JSON at /stats. /hold and /resume on the same listener (POST) stop and resume
// reloading: a program that does not reload is what a rotation must wait for.
//
// Goroutines: what follows the material, what reports, what sends the counters, the stats listener, and either the TLS listener
// with a goroutine for each connection or the loop of who dials, calls or writes. All end with the command's context.
package main
