// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app puts the subcommands of the binary together. Each subcommand is a package of its own and knows nothing of
// the others.
package app
