// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodedisk reads the disk of a node that runs a static pod with certificates, and finds its defects. NAME is
// the rollout's name, R and M are revisions, M >= R:
//
//	MANIFESTS/NAME-pod.yaml                  what kubelet runs
//	RESOURCES/NAME-pod.lock                  held by the process that writes below
//	RESOURCES/NAME-pod-R/NAME-pod.yaml       the manifest of R, which mounts this directory
//	RESOURCES/NAME-pod-R/generation-M/       trust and leaves of M together, and generation.json, which lists them
//	RESOURCES/NAME-pod-R/current             a symbolic link to generation-M: the pointer
//	RESOURCES/NAME-pod-set-aside-TIME/       what a recovery has replaced
//
// A StaticPodClass may give the manifest another name, such as etcd.yaml. If a revision brings several static pods to
// a node, each has its own manifest in both of these places. All mount the same directory, so there is one pointer
// for all of them.
//
// The package reads over io/fs and writes nothing. Installer, pruner, doctor and recovery use it and see the same
// defects. The installer accepts no defect; doctor and recovery distinguish Harmless ones.
// controller/rollout/generation installs and prunes; registry/diagnosis judges for operators.
//
// A file system that is passed in must not follow symbolic links below its root (controller/durable complies). No
// value has a private key, and no defect quotes a file. Values are immutable. The package has no clock and starts no
// goroutine.
package nodedisk
