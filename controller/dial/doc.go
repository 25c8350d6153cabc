// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to addresses that tenants choose. It never connects to the controller's own machine, to a
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
package dial
