// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the subcommand serve: the aggregated API server and the admission webhook over one shared inventory.
//
// Options are filled from flags, completed, validated and turned into a Config; the completed Config makes a Server;
// Server.Run serves until its context ends. Each step can be taken by a test alone.
//
// The secure port is a generic API server with delegated authentication and authorization: the API group, OpenAPI, health,
// metrics, and reviews. Whoever is nobody gets health and nothing else, and costs the API server no request (app/ports).
//
// Reviews are for kube-apiserver alone, because a denial names who depends on an object. By default they come through the
// aggregation layer: the ValidatingWebhookConfiguration names the Service kubernetes of the namespace default, which is
// kube-apiserver itself. It calls that as the user of its loopback connection, system:apiserver, without having to be configured,
// and its aggregator passes the review on with the certificate of the front proxy. Neither audit log has its body, which holds keys:
// objects are audited where a REST storage decodes them, and none does. A review that comes to a webhook directly has
// no credentials, unless an AdmissionConfiguration gives kube-apiserver a client certificate; so there is a listener for that,
// on --webhook-port, only with --webhook-client-ca-file. It serves POST /validate, with /livez and /readyz of its own, and
// presents the same certificate as the secure port. It is needed where the faces are split (--serve-api=false).
//
// /debug is off unless --profiling asks for it, and is behind the same authorization. No verbosity prints bodies (app/logging).
//
// Goroutines are owned by Server.Run. When its context ends both listeners drain first, while the inventory and the view go
// on, so that a watch that is still open stays correct; then those are stopped, and Run returns when all have ended.
package serve
