// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports decides whose requests are answered on the ports of serve and of the controller.
//
// An anonymous caller learns that the process is alive and ready, and nothing else: no path is looked up, no name of an
// object is disclosed, and the API server is not asked who the caller is or what it may do. The delegated
// authentication and authorization of Kubernetes would send such requests for every caller.
//
//   - A bearer token is looked at on /metrics and /debug only, and a few times a second at most: a token that nobody has seen
//     before costs a TokenReview. All else is served to who comes through kube-apiserver (by its front proxy certificate) or
//     has a client certificate, which are verified without asking.
//   - Who is anonymous may ask for /livez, /readyz and /healthz. All else is denied without a SubjectAccessReview.
//
// The package starts no goroutine.
package ports
