// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installer is the subcommand installer: it brings one revision of a static pod to the node that it runs on. It is
// what an installer pod runs, and it talks to no API server: the objects of the revision are mounted into its pod.
//
// What it does to the disk, and why a loss of power does no harm, is in controller/rollout/generation. This package reads
// the mounted objects, calls that, and says what was done: in the log, and as one line of JSON in the termination message
// of the container, where the controller reads it.
//
// Everything runs on the goroutine of the caller.
package installer
