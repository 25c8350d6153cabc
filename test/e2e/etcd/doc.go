// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd tests rotations of the certificates of a real etcd, end to end. Three nodes with kubelet and
// containerd run etcd as static pods, and kube-apiservers keep their data in it.
//
// During each scenario a prober opens new connections to the API server and to every port of every member, from
// outside and from the peers. A writer writes to etcd all the time. A scenario passes if:
//
//   - no handshake of a correct client fails,
//   - no two members are away at once,
//   - no acknowledged write is lost,
//   - the logs of etcd show no refused certificate,
//   - the members restart no more often than the scenario allows.
//
// All tests share one cluster, so they run one after the other and leave it healthy. If the machine cannot run
// nodes, each test is skipped by name with the reason.
package etcd
