// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document reads YAML and JSON that somebody else has written: the input of render, the manifest of a static pod in a
// ConfigMap, files on a node. Nothing else in certrotation converts YAML that it has not written itself.
//
// YAML can say much with few bytes (an alias stands for all that its anchor does, ten levels of ten aliases for ten thousand
// million values), and can say one thing to one reader and another to the next (of a key that is there twice, one takes the
// first and one the last). Invariants:
//
//   - The size is looked at before the first byte is parsed, the number of values and their depth before anything is made
//     of them.
//   - Aliases, anchors and merges are refused: what a document says, it says where it says it.
//   - A key is there once.
//
// The package starts no goroutine.
package document
