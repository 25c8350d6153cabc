// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package balancer is a TCP load balancer for TLS servers that come and go: it spreads connections over the backends that
// pass a health check, and loses none of them when a backend restarts or dies.
//
// What a client may rely on:
//
//   - A new connection goes to a backend that passed its last check and was not taken out ([Balancer.TakeOut]); where there
//     is none, the client waits (Config.Patience) and is not refused.
//   - A backend that cannot be reached, or that goes away before it answered the client's first TLS record, costs nothing:
//     the record is sent again to another backend. Until a server has answered it, a ClientHello has no effect.
//   - Connections through a backend that was taken out go on until either side ends them, half-closed ones too.
//
// The balancer decrypts nothing. It cannot move a connection once the server has answered: moving those is between the
// server, which says goodbye when it stops, and the client.
//
// # Goroutines
//
// Run owns one goroutine for each backend (checks) and each listener, which end with its context. Each connection has two,
// which end when both sides are closed; CloseConnections ends those that are left and waits for them.
package balancer
