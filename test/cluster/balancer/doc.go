// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package balancer is a TCP load balancer for TLS servers that restart. It spreads connections over the backends that
// pass a health check, and loses no new connection when a backend restarts or dies.
//
// A client may rely on these rules:
//
//   - A new connection goes to a backend that passed its last check and was not taken out ([Balancer.TakeOut]). Without
//     such a backend the client waits (Config.Patience) and is not refused.
//   - If a backend is unreachable, or dies before it answers the client's first TLS record, the balancer sends the
//     record to another backend. A ClientHello has no effect until a server answers it.
//   - Connections through a taken-out backend stay open until either side ends them, half-closed ones too.
//
// The balancer decrypts nothing. It cannot move a connection after the server has answered. A stopping server must
// tell its clients to reconnect.
//
// # Goroutines
//
// Run owns one goroutine for each backend (checks) and each listener, which end with its context. Each connection has
// two, which end when both sides are closed. CloseConnections ends the remaining ones and waits for them.
package balancer
