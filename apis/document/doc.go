// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document reads YAML and JSON from untrusted authors: the input of render, the manifest of a static pod in a
// ConfigMap, files on a node. No other package parses YAML that certrotation has not written itself.
//
// A short YAML document can expand to a huge one (an alias stands for everything that its anchor holds; ten levels of
// ten aliases are ten thousand million values), and can be ambiguous (of a duplicate key, some readers use the first
// and others the last). Invariants:
//
//   - The size is looked at before the first byte is parsed, the number of values and their depth before anything is made
//     of them.
//   - Aliases, anchors and merges are refused: what a document says, it says where it says it.
//   - A key is there once.
//
// The package starts no goroutine.
package document
