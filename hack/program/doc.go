// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package program builds the programs of cmd, and says what they are made of, in SPDX 2.3. The same commit makes the same bytes.
package program
