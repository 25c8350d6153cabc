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
// certrotation itself runs as pods of these nodes, installed by the commands of docs/install.md. What happens to a component of a cluster
// happens to it: another build and back, drains, kills (TestInstalledUnderLoad), a restored etcd (TestRestoredFromBackup), certificates
// that have expired (TestExpired), the emergency procedure, and removal and installation in the other form (TestRemoved).
// TestExtendedKubeadmControlPlane is about static pods, for which the nodes are at hand.
//
// With CERTROTATION_KUBERNETES=1.34, what of Kubernetes runs here is of that version. `make test-versions` has TestFirstPKI and TestRemoved,
// which do what docs/install.md says, run so.
//
// One cluster is shared by all tests. Those of the sample run one after the other and leave it as they found it. Then scenarios
// run at the same time, each with a trust domain in a namespace of its own (testdata): what users of other projects have told
// (docs/mistakes.md). All add to the counters of handshakes, so a failed one fails each test that runs at that time. Where the
// machine cannot run nodes, each test is skipped by name with the reason.
package pods
