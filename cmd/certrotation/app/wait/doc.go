// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wait is the subcommand wait: an init container that holds a pod until kubelet shows it the content that its pod
// template names. kubelet may mount a Secret or ConfigMap as it has cached it, which is older than the template; without a
// gate a pod of a new template may run with the former content. A later content than the one that is named opens the gate too.
//
// It needs no API server. Everything runs on the goroutine of the caller.
package wait
