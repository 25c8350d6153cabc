// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the subcommand serve: the aggregated API server and the admission webhook over one shared inventory.
//
// Options are filled from flags, completed, validated and turned into a Config; the completed Config makes a Server;
// Server.Run serves until its context ends. Each step can be taken by a test alone.
//
// There are two listeners. The secure port is a generic API server with delegated authentication and authorization: the
// API group, OpenAPI, health and metrics. The webhook port serves POST /validate with /livez and /readyz of its own, so
// that a flood of API requests cannot starve admission, and network policies can tell the two apart. Both present
// the same certificate.
//
// Goroutines are owned by Server.Run. When its context ends both listeners drain first, while the inventory and the view go
// on, so that a watch that is still open stays correct; then those are stopped, and Run returns when all have ended.
package serve
