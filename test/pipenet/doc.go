// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipenet is a network in memory for tests that run in a bubble of testing/synctest: the clock of the bubble stands
// still while a client or a server computes, so a timeout fires only where a peer is silent.
//
// Connections behave as TCP over loopback does: writes are buffered, a closed port refuses, and who closes a connection
// with unread data resets it.
package pipenet
