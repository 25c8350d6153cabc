// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package address says what an IP address can be: one that some machine may have to itself, or one that leads each machine
// to itself, to its link, or to nobody. And it says which addresses of a node are believed, when all that speaks for them is
// what its kubelet has written.
//
// It consists of pure functions.
package address
