// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to addresses that tenants have chosen. It never connects to the machine of the controller, to
// the services that a cloud provides on the link of a machine, or to ranges that the operator denies.
//
// The check is on the address that the kernel is asked to connect to: after names were resolved, at every attempt, in
// the Control function of net.Dialer. So a name that resolves differently the next time, or to several addresses, gains
// nothing.
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
