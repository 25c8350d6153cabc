// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connection shakes hands with servers that are only looked at, and puts the failures of connections into words that
// are the same at each attempt, so that a member that stays away makes news once. The texts of package net hold local ports, those of crypto/x509 the current time.
//
// There are two kinds of words. Failure says what happened and is for the log of the controller. Told is for records,
// status and events, which are read by those who chose the address: a probe is no port scanner, so it says the same of a
// closed port, a filtered one, a server that is none of this trust domain and one that does not speak TLS. How long an
// attempt takes it cannot hide.
//
// It has no state but a counter of failures by cause, and starts no goroutine.
package connection
