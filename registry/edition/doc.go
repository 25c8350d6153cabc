// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package edition has the rules by which a secret is stored as immutable Secrets that follow each other, as Gardener's
// SecretsManager does it: what a Secret of a configuration is called, which labels it has, which of several is the newest, when
// it is due for renewal, and which may go.
//
//	configuration ──► StructuralHash ──► Wanted.ObjectName      whoever asks for the same asks for the same object
//	Secret        ──► Of             ──► Edition                its labels, the dates of its certificate, its checksum
//	editions      ──► Rotations, Former, Cleanup                what is asked for next, what was before, what may be deleted
//
// Words: a *name* is that of a configuration; an *edition* is one immutable Secret of a name; the *current* edition is the one
// that a configuration asks for now, and a *former* one any other of that name.
//
// Invariants:
//
//   - A name of an object depends on the configuration, the signer and the time of rotation, and on nothing else: neither on who
//     asks, nor on when. A renewal is called after the moment at which it was due, so that replicas that notice it in different
//     seconds make one object.
//   - Dates are those of the certificate where there is one; labels count for the rest. What cannot be read is not known, and
//     what is not known is never due.
//   - Order is by the number of the edition, then by time of rotation, then by the dates of content. Times of creation decide where
//     nothing else does: a restore makes them equal.
//   - What Cleanup deletes, nobody needs who can be asked: no configuration of this run, no pod, no leaf that stays, no
//     RotationConfiguration. What was not named in a run that is incomplete stays.
//
// Everything is a pure function; the package starts no goroutine.
package edition
