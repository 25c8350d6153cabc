// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipenet is an in-memory network for tests in a bubble of testing/synctest. The clock of the bubble stops
// while a client or a server computes, so a timeout fires only if a peer is silent.
//
// Connections behave like TCP over loopback: writes are buffered, a closed port refuses, and closing a connection
// with unread data resets it.
package pipenet
