// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document reads YAML and JSON of untrusted authors: the input of render, the manifest of a static pod in
// a ConfigMap, files on a node. No other package parses YAML that certrotation has not written.
//
// A short YAML document can expand to a huge one: ten levels of ten aliases are 10^10 values. It can also be
// ambiguous: of a duplicate key, some readers use the first value and others the last. Invariants:
//
//   - The size is checked before parsing, the number of values and their depth before conversion.
//   - Merge keys are refused, aliases and anchors too unless they are asked for. Then all they stand for is counted
//     before conversion.
//   - Each key of a mapping occurs once.
//
// The package starts no goroutine.
package document
