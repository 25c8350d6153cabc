// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package address classifies IP addresses: those that can belong to one machine alone, and those that mean the
// machine itself, its link, or no machine. It also decides which addresses of a node to accept, because a kubelet may
// report false ones. All functions are pure.
package address
