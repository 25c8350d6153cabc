// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wait is the subcommand wait: an init container that blocks a pod until kubelet mounts the content that the
// pod template names. kubelet may mount a cached Secret or ConfigMap that is older than the template, so without this
// gate a new pod may run with old content. Content later than the named one opens the gate too.
//
// It needs no API server. Everything runs on the caller's goroutine.
package wait
