// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodedisk says what is on the disk of a node that runs a static pod with certificates, and what is wrong with it.
// NAME is the rollout's name, R and M are revisions, M >= R:
//
//	MANIFESTS/NAME-pod.yaml                  what kubelet runs
//	RESOURCES/NAME-pod.lock                  locked by whoever writes below
//	RESOURCES/NAME-pod-R/NAME-pod.yaml       the manifest of R, which mounts this directory
//	RESOURCES/NAME-pod-R/generation-M/       trust and leaves of M together, and generation.json, which lists them
//	RESOURCES/NAME-pod-R/current             a symbolic link to generation-M: the pointer
//	RESOURCES/NAME-pod-set-aside-TIME/       what a recovery has replaced
//
// A StaticPodClass may give the manifest another name, such as etcd.yaml. The static pods of a node that a revision brings
// together have a manifest each, in both of these places, and mount the same directory: one pointer for all of them.
//
// It reads over io/fs and writes nothing. Installer, pruner, doctor and recovery read with it and see the same defects:
// the installer accepts nothing that has one, doctor and recovery tell apart those that are Harmless. What follows from
// that is decided elsewhere: controller/rollout/generation installs and prunes, registry/diagnosis judges for people.
//
// A file system that is passed in must follow no symbolic link below its root (controller/durable does not). No value
// has a private key, and no defect quotes a file. Values are never changed after they were made. The package has no
// clock and starts no goroutine.
package nodedisk
