// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clockskew compares this machine's clock with other clocks. registry/trust decides what a skew means.
//
// A Meter compares the clock with the API server's, by the Date header of its answers. It makes no requests.
//
// A Witness also compares it with the kubelets, by the last renewal of each Lease: the API server may share this
// machine's clock and jump with it. Only a difference to every Lease counts against the clock: a kubelet that is down
// does not renew, and a skewed kubelet is not this clock's problem. The Witness makes one list, and only before an
// action that depends on the clock. The result holds for at most a minute by the clock, so that a jump makes it ask
// again.
//
// Without Leases, as in an API server without nodes, only the API server's date counts. If every kubelet has been
// down for longer than MaxLeaseSkew, no such action is taken until one is back: that looks like a clock that jumped
// ahead.
//
// What a Witness knows without asking is in every trust.Domain of the controller's process (registry/view/inventory).
// The controller records it while it holds a domain, so that serve assesses by the same skew.
//
// Both are safe for concurrent use and start no goroutine.
package clockskew
