// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installer is the subcommand installer: it installs one revision of a static pod on its node. An installer
// pod runs it. It talks to no API server: the objects of the revision are mounted into the pod.
//
// controller/rollout/generation writes the disk, and documents why a loss of power does no harm. This package reads
// the mounted objects, calls it, and reports the outcome: in the log, and as one line of JSON in the container's
// termination message, which the controller reads.
//
// Everything runs on the caller's goroutine.
package installer
