// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app assembles the subcommands of the binary. Each subcommand is a package of its own and does not depend on
// the others.
package app
