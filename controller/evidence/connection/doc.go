// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connection does handshakes with servers that are only observed. It describes failed connections with texts
// that are the same at each attempt, so that a lasting failure is reported once. The errors of package net contain
// local ports, the errors of crypto/x509 the current time.
//
// Failure describes what happened, for the controller's log. Told is for records, status and events, which the tenant
// who chose the address may read. A probe is no port scanner: Told is the same for a closed port, a filtered port, a
// server outside the trust domain and a server without TLS. It cannot hide the duration of an attempt.
//
// Its only state is a counter of failures by cause. It starts no goroutine.
package connection
