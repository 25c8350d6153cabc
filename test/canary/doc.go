// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package canary searches for private keys where none may be: in logs, events, metrics, answers, and memory. It
// searches for the secret numbers of a key: as bytes in either order, and as hexadecimal and decimal text. It also
// searches for their base64 at each of three alignments. So lines, prefixes and the surrounding encoding do not
// matter.
//
// A Run collects the keys of every Secret while the tests of a cluster run, and searches at their end. It owns its
// goroutines, which end with Stop.
//
// A find names the form and the place, and never quotes the key.
package canary
