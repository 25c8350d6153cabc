// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods tests rotations of certificates whose verifiers and holders are pods, end to end. Three nodes with
// kubelet and containerd run the sample manifests/samples/pods, a mutual TLS server and two kinds of clients as
// Deployments.
//
// TestEverythingRotatesTogether adds the samples webhook-server and hosted-etcd: a webhook that is called all the
// time, and two control planes that are written to all the time. Their etcd and kube-apiserver are pods.
//
// Every client pod connects to every server pod all the time, and all of them count handshakes. A scenario passes
// if no handshake failed, on either side and for any reason. The counters outlive the pods.
//
// certrotation itself runs as pods of these nodes, installed by the commands of docs/install.md. The tests do to
// it what happens to a component of a cluster:
//
//   - another build and back, drains, kills (TestInstalledUnderLoad),
//   - a restored etcd (TestRestoredFromBackup),
//   - expired certificates (TestExpired),
//   - the emergency procedure, removal, and installation in the other form (TestRemoved).
//
// TestExtendedKubeadmControlPlane is about static pods, and is here because it needs the nodes.
//
// With CERTROTATION_KUBERNETES=1.34, the components of Kubernetes have that version. `make test-versions` runs
// TestFirstPKI and TestRemoved so, which execute docs/install.md.
//
// All tests share one cluster. Those of the sample run one after the other and restore its state. Then the others run
// in parallel, each with a trust domain that no other one uses. TestReplicaThatDoesNotReload uses that of the sample.
// Most are scenarios with a namespace of their own (testdata), and replay reports of users of other projects
// (docs/mistakes.md). All add to the counters of handshakes, so a failed handshake fails each test that runs at that
// time. If the machine cannot run nodes, each test is skipped by name with the reason.
package pods
