// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package canary searches for private keys where none may be: in logs, events, metrics, answers, and memory. A key is known by
// what any form of it has in common: the bytes of its secret numbers, in either order, their hexadecimal and decimal text,
// and base64 at each of its three alignments, so that lines, prefixes and the encoding around it do not matter.
//
// A Run collects the keys of every Secret while the tests of a cluster run, and is asked at their end; it owns its goroutines,
// which end with Stop.
//
// A find says which form was found and where, and never quotes it.
package canary
