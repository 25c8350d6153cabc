// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to addresses that tenants have chosen, and to no other process than one that they could mean: never
// to the controller's own machine, to the services that a cloud gives a machine by its link, or to what the operator denies.
//
// What is judged is the address that the kernel is asked to connect to: after names were resolved, at every attempt, in the
// dialer's Control. So a name that leads elsewhere at the second look, or to several addresses, gains nothing.
//
// Invariants:
//
//   - Denied ranges of the operator are never dialled. What this package denies by itself is dialled only where the operator
//     allows it: the zero Dialer allows nothing of it.
//   - An IPv6 address that carries an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) is denied where that
//     one is. A network with a NAT64 prefix of its own has to deny what lies behind it.
//   - An address with a zone is one of a link, whatever else it says.
//   - Only TCP is dialled.
//
// It has no goroutines. A Dialer is immutable and may be used from anywhere.
package dial
