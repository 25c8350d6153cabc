// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node are the subcommands that work on the disk of a node: installer and prune, which the controller runs in
// pods, and doctor and recover, which a person runs while there is no API server. All run on the goroutine of their
// caller.
//
// # Flags
//
// The commands share flags that say where the revisions are on the node's disk, and how long a command may take. A layout is only as valid as the flags
// that set it. The package keeps no state.
//
// # Installer
//
// It installs one revision of a static pod on its node. An installer
// pod runs it. It talks to no API server: the objects of the revision are mounted into the pod.
//
// controller/rollout/generation writes the disk, and documents why a loss of power does no harm. This package reads
// the mounted objects, calls it, and reports the outcome: in the log, and as one line of JSON in the container's
// termination message, which the controller reads.
//
// # Prune
//
// It removes from a node the revisions of a static pod that are no longer
// needed. A pruner pod runs it. It talks to no API server. The flags say what may be removed, but what
// controller/rollout/generation finds in use on the disk always stays.
//
// # Doctor
//
// It reports inconsistencies on the disk of a node, and how to
// repair them. It needs no API server and writes nothing.
//
// It exits with 0 without errors among the findings, 1 with an error or if the examination failed, and 2 for a wrong
// command line.
//
// # Recover
//
// Without an API server, it restores a static pod whose
// certificates do not work. It restores the last generation that a quorum accepts, or reissues the expired one.
//
// It exits with 0 if it succeeded or had nothing to do, 1 if it failed, and 2 for a wrong command line.
package node
