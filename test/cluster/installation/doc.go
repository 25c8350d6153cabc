// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation installs certrotation in a running cluster.Cluster.
//
// Install runs it as processes of this machine. `make up`, the integration tests and the benchmarks use the same
// manifests, identities and flags. kube-apiserver reaches the aggregated API, and through it the webhook, by a
// Service of type ExternalName on the loopback interface. The processes have the RBAC of their ServiceAccounts, not
// an administrator's.
//
// A Stranger runs it as users do, as pods of the caller's nodes. It follows the commands and files of docs/install.md
// word for word.
//
// Everything is written to the cluster's directory. installation.json holds the ports, so that a second run finds
// what the first one started.
package installation
