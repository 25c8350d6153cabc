// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery tests, on real nodes, what a person does when a cluster was off until every certificate of its etcd had
// expired: `certrotation doctor` and `certrotation recover` on each node, without an API server, until etcd serves again,
// the kube-apiservers come up with what was recovered, and the controller goes on rotating.
//
// The clock of a container cannot be moved without moving that of the whole machine. So the certificates live for some
// minutes only, everything loses its power as soon as the cluster has settled, and the test waits until the last certificate
// on the last disk has expired: for a certificate there is no difference between the two.
//
// The certificates of kubelets and kube-apiservers are not certrotation's here, and long-lived.
//
// Where the machine cannot run nodes, the test is skipped by name with the reason.
package recovery
