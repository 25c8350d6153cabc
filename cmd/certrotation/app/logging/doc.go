// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logging applies the logging flags of the subcommands.
//
// From verbosity 8 on, client-go logs the bodies of requests and responses, which contain Secrets here. So no
// subcommand logs above maxVerbosity, whether set by -v, by --vmodule, or by /debug/flags of a running process.
//
// The package starts no goroutine.
package logging
