// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render is the command render: it makes the certificates, the manifests and the disks of the first nodes of a
// cluster, offline, from the objects that would be applied to it. What is made is decided in controller/bootstrap, what a
// node's disk looks like in registry/nodedisk.
//
//	OUTPUT/manifests/*.yaml                    every object, to create in the order of the names
//	OUTPUT/nodes/NODE/etc/kubernetes/...       what belongs on the disk of each node
//	OUTPUT/tls/*.{crt,key}                     what the first kube-apiserver and other clients of etcd use
//
// Invariants:
//
//   - The output directory is complete or not there: everything is written beside it, synced, read back and checked, and
//     then renamed. One that holds anything is refused.
//   - Files have mode 0600, directories 0700, whatever the umask.
//   - Before it says done it has checked, from what is on the disk: that each pair belongs together and its signer is in
//     a bundle beside it, that each generation is what its record says, and that a controller would change nothing in an
//     API with these manifests.
//
// The package starts no goroutine of its own.
package render
