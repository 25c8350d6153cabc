// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package address classifies IP addresses: those that can belong to one machine alone, and those that mean the machine
// itself, its link, or no machine. It also decides which addresses of a node are accepted, given that the node's
// kubelet, which reports them, may lie.
//
// It consists of pure functions.
package address
