// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation searches for an order of events in which a rotation cuts somebody off, and is meant to find none.
//
// A world is a namespace with one or more trust domains: processes with what they have loaded and what they present,
// an API server in memory, leaders that run the real controller (controller/rotation) over caches that lag, and people
// who edit objects. Everything that can happen is an event; a dice says which one comes next and how it goes. Some come
// between a read and a write of the controller.
//
// After every event, and after every write of a leader, the promises of design.md section 4 are checked. Handshakes
// are judged by crypto/x509 with the anchors that a process has loaded, not by the model.
//
// There are three engines: rapid rolls the dice and shrinks what it finds to a short story; a plain random number
// generator measures how soon a broken protocol is found; and the explorer tries everything that can happen in a small
// world, state by state.
//
// What the operator promises is kept by the world, as nobody could rotate without it: a process of the kind gracePeriod
// loads within its grace (less ten minutes for clocks), one of the kind renewed loads when its leaf is written, and
// nobody returns to a backup that could not handshake with what is live at that moment. A cache does not lag for longer
// than those ten minutes: a leaf is issued on what the cache says of the time since an anchor was published. Clocks of
// leaders and processes are up to two minutes off, which the five minutes by which certificates are backdated cover.
//
// A world belongs to one goroutine. The queue of a controller has goroutines of its own, which do nothing, because time
// in its clock never fires; they end when the leader is replaced.
package simulation
