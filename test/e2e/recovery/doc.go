// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery tests, on real nodes, the recovery of a cluster that was off until every certificate of its
// etcd had expired. A person runs `certrotation doctor` and `certrotation recover` on each node, without an API
// server, until etcd serves again. Then the kube-apiservers start with the recovered files, and the controller
// continues to rotate.
//
// The clock of a container cannot differ from the clock of the machine. So the certificates are valid for two
// minutes only, and all nodes are powered off as soon as the cluster is complete. The test waits until the last
// certificate on the last disk has expired.
//
// The certificates of kubelets and kube-apiservers are long-lived here, and not managed by certrotation.
//
// If the machine cannot run nodes, the test is skipped by name with the reason.
package recovery
