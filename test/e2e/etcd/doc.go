// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd tests rotations of the certificates of a real etcd, end to end: three nodes with kubelet and containerd,
// etcd as their static pods, and kube-apiservers that keep their data in it.
//
// During each scenario a prober makes new connections to every port of every member, from the outside and as its peers do,
// and to the API server; a writer writes to etcd all the time. A scenario passes if no handshake failed that a correct
// client makes, if never two members were away at once, if no acknowledged write is lost, if etcd's own logs tell of no
// refused certificate, and if the members restarted no more often than the scenario allows.
//
// One cluster is shared by all tests, which therefore run one after the other and leave it healthy. Where the machine
// cannot run nodes, each test is skipped by name with the reason.
package etcd
