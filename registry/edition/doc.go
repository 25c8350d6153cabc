// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package edition has the rules for storing a secret as a sequence of immutable Secrets, as Gardener's SecretsManager
// does. They decide the name and labels of a Secret, which of several is the newest, when it is due for renewal, and
// which may go.
//
//	configuration ──► StructuralHash ──► Wanted.ObjectName      equal requests name the same object
//	Secret        ──► Of             ──► Edition                its labels, the dates of its certificate, its checksum
//	editions      ──► Rotations, Former, Cleanup                what to ask for next, what came before, what to delete
//
// Words: a *name* is the name of a configuration; an *edition* is one immutable Secret of a name. The *current*
// edition is the one that a configuration asks for now; every other edition of that name is a *former* one.
//
// Invariants:
//
//   - The name of an object depends only on the configuration, the signer and the time of rotation: not on the
//     caller or the current time. A renewal is named after the moment at which it was due. So replicas that
//     notice it in different seconds create one object.
//   - Dates come from the certificate if there is one, and from labels otherwise. Unreadable dates are unknown,
//     and an edition with unknown dates is never due.
//   - Editions are ordered by number, then by time of rotation, then by the dates of their content. Creation
//     times decide only after these: a restore makes them equal.
//   - Cleanup deletes only what has no known user: no configuration of this run, no pod, no kept leaf, no
//     RotationConfiguration. If a run is incomplete, everything that it did not name stays.
//
// All functions are pure; the package starts no goroutine.
package edition
