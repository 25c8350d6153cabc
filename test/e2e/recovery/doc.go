// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery tests, on real nodes, what a person does when a cluster was off until every certificate of its etcd had
// expired: `certrotation doctor` and `certrotation recover` on each node, without an API server, until etcd serves again,
// the kube-apiservers come up with what was recovered, and the controller goes on rotating.
//
// The clock of a container cannot be changed without changing that of the whole machine. So the certificates are valid
// for some minutes only, all nodes are powered off as soon as the cluster is complete, and the test waits until the
// last certificate on the last disk has expired.
//
// The certificates of kubelets and kube-apiservers are long-lived here, and not managed by certrotation.
//
// Where the machine cannot run nodes, the test is skipped by name with the reason.
package recovery
