// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports says who gets an answer on the ports of serve and of the controller.
//
// Whoever can reach a port and is nobody learns that the process is alive and ready, and nothing else: no path is looked up, no
// name of an object is said, and the API server is not asked, neither who they are nor what they may do. The delegated
// authentication and authorization that Kubernetes has would ask it on behalf of any stranger.
//
//   - A bearer token is looked at on /metrics and /debug only, and a few times a second at most: a token that nobody has seen
//     before costs a TokenReview. All else is served to who comes through kube-apiserver (by its front proxy certificate) or
//     has a client certificate, which are verified without asking.
//   - Who is anonymous may ask for /livez, /readyz and /healthz. All else is denied without a SubjectAccessReview.
//
// The package starts no goroutine.
package ports
