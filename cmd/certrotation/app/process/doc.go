// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process is what every subcommand sets up: its log, who gets answers on its ports, and that no other process
// reads its memory. It starts no goroutine.
//
// # Ports
//
// These decide which clients get answers on the ports of serve and of the controller.
//
// An anonymous client learns that the process is alive and ready, and nothing else. The ports look up no path and
// disclose no object's name. They send no TokenReview or SubjectAccessReview, as Kubernetes' delegated authentication
// and authorization would for every client.
//
//   - Only /metrics and /debug accept bearer tokens, and only a few times a second: an unknown token costs a
//     TokenReview. All else requires the front proxy certificate of kube-apiserver or a client certificate, which are
//     verified locally.
//   - Anonymous clients may read /livez, /readyz and /healthz. All else is denied without a SubjectAccessReview.
//
// # Logs
//
// ApplyLogging applies the logging flags of the subcommands.
//
// From verbosity 8 on, client-go logs the bodies of requests and responses, which contain Secrets here. So no
// subcommand logs above maxVerbosity, whether set by -v, by --vmodule, or by /debug/flags of a running process.
//
// # Memory
//
// MakeUndumpable protects the memory of this process, which at times holds private keys, from other processes of
// the same user and from files. The process has no core dumps, and only a process that may trace any other can read
// its memory.
//
// Debuggers and profilers of the same user do not work either; those of root do.
package process
