// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logging applies the logging flags of the subcommands.
//
// From verbosity 8 on, client-go logs the bodies of requests and responses, which contain Secrets here. So no
// subcommand logs at a verbosity above maxVerbosity: not with -v, not with --vmodule, and not if a running process is
// told to on /debug/flags.
//
// The package starts no goroutine.
package logging
