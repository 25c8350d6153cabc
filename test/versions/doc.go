// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package versions tests what a user needs on an older Kubernetes than all other tests use. It applies the
// definitions, the APIService and the webhook, lists and watches rows through the aggregator, and makes the webhook
// review requests. It completes a rotation. What this Kubernetes does not serve must stop nothing else. The control
// plane and kubectl are of that version; etcd is the newest.
//
// `make test-all` runs it on the oldest version, `make test-versions` on each version with a module in hack/tools. The
// environment variable CERTROTATION_KUBERNETES names the version. With the same variable, test/e2e/pods tests an
// installation as pods on nodes of an older version.
package versions
