// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the subcommand serve: the aggregated API server and the admission webhook over one shared
// inventory.
//
// Flags fill Options, which are completed, validated and turned into a Config. The completed Config makes a Server,
// and Server.Run serves until its context ends. A test can take each step alone.
//
// The secure port is a generic API server with delegated authentication and authorization. It serves the API group,
// OpenAPI, health, metrics and reviews. Anonymous clients get only health checks, and cause no requests to the API
// server (app/process).
//
// Only kube-apiserver may send reviews, because a denial names who depends on an object. By default reviews come
// through the aggregation layer. The ValidatingWebhookConfiguration names the Service kubernetes of the namespace
// default, which is kube-apiserver itself. Without further configuration kube-apiserver calls it as its loopback
// user, system:apiserver, and its aggregator forwards the review with the front proxy certificate. The review's body
// contains keys, and appears in neither audit log: bodies are audited where a REST storage decodes them, and none
// does.
//
// A review sent directly to a webhook has no credentials, unless an AdmissionConfiguration gives kube-apiserver a
// client certificate. For that case --webhook-client-ca-file opens a listener on --webhook-port. It serves POST
// /validate and its own /livez and /readyz, and presents the certificate of the secure port. It is required if API
// and webhook run as separate processes (--serve-api=false).
//
// /debug is served only with --profiling, behind the same authorization. No verbosity logs bodies (app/process).
//
// Server.Run owns the goroutines. When its context ends, both listeners drain first, while inventory and view
// continue, so that open watches stay correct. Then inventory and view stop, and Run returns when all goroutines have
// ended.
package serve
