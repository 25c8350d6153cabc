// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clockskew compares this machine's clock with those of others. What a skew means is decided by registry/trust.
//
// A Meter compares it with the API server's. Every answer of the API server carries the time in its Date header, so that
// no request is made for it.
//
// A Witness also asks the kubelets, by the time at which each has renewed its Lease last: the clocks of the API server
// and of this machine may well be one clock, and jump together. Only a difference to every Lease speaks against the clock:
// a kubelet that is down does not renew, and one that is off is its own problem. It makes one list, and only when
// something is about to be done; what it has seen holds for a minute at most, by the clock, so that a jump has it asked anew.
//
// Where no kubelet has a Lease, as in an API server without nodes, there is no witness, and the API server's date alone
// counts. Where every kubelet has been down for longer than MaxLeaseSkew, nothing is done until one is back: that cannot be
// told from a clock that has jumped ahead.
//
// What a Witness knows without asking is in every trust.Domain of the controller's process (registry/view/inventory), and the
// controller records it while it holds a domain, so that serve assesses by the same skew.
//
// Both are safe for concurrent use and start no goroutine.
package clockskew
