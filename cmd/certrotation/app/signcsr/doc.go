// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signcsr is the subcommand sign-csr: a server that signs the first certificates of etcd members, before
// there is a kube-apiserver. It implements the part of certificates.k8s.io/v1 that a client needs to create a
// CertificateSigningRequest and to read it again. registry/csr decides which requests are signed.
//
// Invariants:
//
//   - Every request needs a bootstrap token or a client certificate, except on /readyz.
//   - A request is signed, recorded and answered, or refused, recorded and answered with a metav1.Status of 4xx. A
//     certificate is returned only after it is recorded.
//   - For each node and profile only the first key is signed, until an operator releases it (sign-csr release). The
//     key is recorded on the disk before a certificate is returned.
//   - /readyz reads and parses nothing.
//   - Another request of the same name may overwrite the record of a denial, and no other record.
//   - No name from a request becomes part of a path: records are named by a hash.
//   - Every file for a decision or a handshake (CAs, serving pairs, client CAs, token, nodes) is read each time. A
//     replaced file needs no restart, and a broken one fails closed.
//   - No key and no token stays in memory longer than a request, or is logged.
//
// Run owns the goroutines: two HTTP servers, and one goroutine that updates the readiness. It returns when all have
// ended. Requests are served concurrently, but create requests are decided one at a time, under the lock of the
// store. A lock on the directory excludes other processes.
package signcsr
