// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods tests rotations of certificates whose verifiers and holders are pods, end to end: three nodes with kubelet and
// containerd, and on them the sample manifests/samples/pods, a mutual TLS server and two kinds of clients as Deployments.
//
// TestEverythingRotatesTogether puts the samples webhook-server and hosted-etcd beside it while it runs: a webhook that is called all the
// time, and two control planes whose etcd and kube-apiserver are pods, and are written to all the time.
//
// Every client pod connects to every server pod all the time, and all count. A scenario passes if no handshake failed, on either
// side and for any reason, also of pods that are gone: the counters outlive them.
//
// One cluster is shared by all tests, which therefore run one after the other and leave it as they found it. Where the machine
// cannot run nodes, each test is skipped by name with the reason.
package pods
