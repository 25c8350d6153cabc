// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render are the subcommands that print what an operator applies, without an API server. kubeadm prints the
// objects that adopt the etcd of a kubeadm control plane: it reads two manifests on one control plane node, and no key;
// registry/kubeadm makes the objects.
//
// render makes the certificates, manifests and disks of a cluster's first nodes from the objects that would be applied
// to the cluster. controller/bootstrap decides what to make, registry/nodepod the layout of a node's disk.
//
//	OUTPUT/manifests/*.yaml                    every object, to create in the order of the names
//	OUTPUT/nodes/NODE/etc/kubernetes/...       what belongs on the disk of each node
//	OUTPUT/tls/*.{crt,key}                     what the first kube-apiserver and other clients of etcd use
//
// Invariants:
//
//   - The output directory is complete or absent. It is written under another name beside it, synced, read back,
//     checked and then renamed. An output directory that is not empty is refused.
//   - Files have mode 0600, directories 0700, regardless of the umask.
//   - Before it reports success, it checks from the disk that each pair matches and its signer is in a bundle beside
//     it. It also checks that each generation matches its record, and that a controller would change nothing in an
//     API with these manifests.
//
// The package starts no goroutine of its own.
package render
