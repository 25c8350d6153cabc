// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the subcommand serve: the aggregated API server and the admission webhook over one shared inventory.
//
// Options are filled from flags, completed, validated and turned into a Config; the completed Config makes a Server;
// Server.Run serves until its context ends. Each step can be taken by a test alone.
//
// The secure port is a generic API server with delegated authentication and authorization: the API group, OpenAPI,
// health, metrics, and reviews. Anonymous callers get health checks and nothing else, and cause no requests to the API
// server (app/ports).
//
// Only kube-apiserver may send reviews, because a denial names who depends on an object. By default they come through
// the aggregation layer: the ValidatingWebhookConfiguration names the Service kubernetes of the namespace default,
// which is kube-apiserver itself. It calls that as the user of its loopback connection, system:apiserver, without
// further configuration, and its aggregator forwards the review with the certificate of the front proxy. The body of
// the review, which contains keys, is in neither audit log, because bodies are audited where a REST storage decodes
// them, and none does. A review that is sent to a webhook directly has no credentials, unless an AdmissionConfiguration
// gives kube-apiserver a client certificate. For that case there is a listener on --webhook-port, if
// --webhook-client-ca-file is set. It serves POST /validate, with /livez and /readyz of its own, and presents the same
// certificate as the secure port. It is needed if API and webhook run as separate processes (--serve-api=false).
//
// /debug is served only with --profiling, behind the same authorization. No verbosity logs bodies (app/logging).
//
// Goroutines are owned by Server.Run. When its context ends both listeners drain first, while the inventory and the
// view continue, so that watches that are still open stay correct; then those are stopped, and Run returns when all
// have ended.
package serve
