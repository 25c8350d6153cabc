// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signcsr is the command sign-csr: a server that signs the first certificates of etcd members, before there is
// a kube-apiserver. It implements as much of certificates.k8s.io/v1 as a client needs that creates a
// CertificateSigningRequest and reads it again. Which requests are signed is decided in registry/csr.
//
// Invariants:
//
//   - Every request needs a bootstrap token or a client certificate, except on /readyz.
//   - A request is signed, recorded and answered, or refused, recorded and answered with a metav1.Status of 4xx. No
//     certificate is returned unless it could be recorded.
//   - For each node and profile only the first key is signed, until an operator releases it (sign-csr release). The key is
//     recorded on the disk before a certificate is returned.
//   - Nothing is read or parsed for /readyz.
//   - A record is never overwritten by another request of the same name, unless it is a denial.
//   - No name out of a request becomes a part of a path: records are named by a hash.
//   - Every file that is read for a decision or a handshake (CAs, serving pairs, client CAs, token, nodes) is read each
//     time. Replacing one needs no restart, and a broken one fails closed.
//   - No key and no token is kept in memory longer than a request, or written to a log.
//
// Goroutines: Run owns the two HTTP servers and one goroutine that updates the readiness, and returns when all have
// ended. Requests are served concurrently; those that create are decided one at a time, under the lock of the store.
// Other processes are kept out by a lock on the directory.
package signcsr
