// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation puts certrotation into a running cluster.Cluster.
//
// Install runs it as processes of this machine: `make up`, the integration tests and the benchmarks use the same manifests, identities
// and flags. kube-apiserver reaches the aggregated API, and by it the webhook, through a Service of type ExternalName on the loopback
// interface. The processes run with the RBAC of their ServiceAccounts, not as administrators.
//
// A Stranger runs it as people do, as pods of nodes that the caller has: by the commands and files of docs/install.md, word for word.
//
// Everything it writes is in the cluster's directory: installation.json holds the ports, so that a second run finds what
// the first one started.
package installation
