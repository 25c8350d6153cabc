// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to addresses that tenants choose, and does handshakes with the servers there.
//
// # Connections
//
// A Dialer never connects to the controller's own machine, to a
// cloud's link-local services, or to ranges that the operator denies.
//
// The check runs in the Control function of net.Dialer, on the address that the kernel connects to, at every attempt.
// So a name that resolves differently next time, or to several addresses, does not bypass it.
//
// Invariants:
//
//   - Ranges that the operator denies are never dialled. Ranges that this package denies by itself are dialled only
//     where the operator allows them; the zero Dialer allows none.
//   - An IPv6 address that carries an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) is denied if the
//     IPv4 address is. In a network with its own NAT64 prefix, the operator must deny the ranges behind that prefix.
//   - An address with a zone counts as link-local in every range.
//   - Only TCP is dialled.
//
// It starts no goroutines. A Dialer is immutable and safe for concurrent use.
//
// # Handshakes
//
// Servers are only observed. Failed connections have texts that are the same at each attempt, so that a lasting failure
// is reported once: the errors of package net contain local ports, those of crypto/x509 the current time.
//
// Failure describes what happened, for the controller's log. Told is for records, status and events, which the tenant
// who chose the address may read. A probe is no port scanner: Told is the same for a closed port, a filtered port, a
// server outside the trust domain and a server without TLS. It cannot hide the duration of an attempt.
//
// Its only state is a counter of failures by cause. It starts no goroutine.
package dial
