// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports decides which clients get answers on the ports of serve and of the controller.
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
// The package starts no goroutine.
package ports
