// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logging applies the logging flags of the subcommands.
//
// From verbosity 8 on, client-go prints the bodies of requests and answers, and bodies are Secrets here. So no subcommand logs
// more than MaxVerbosity: not by -v, not by --vmodule, and not by what a process that runs is told on /debug/flags.
//
// The package starts no goroutine.
package logging
