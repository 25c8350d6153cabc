// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signcsr is the command sign-csr: a server that signs the first certificates of etcd members, at a time when no
// kube-apiserver exists that could be asked. It speaks as much of certificates.k8s.io/v1 as a client needs that creates a
// CertificateSigningRequest and reads it again. What is signed is decided in registry/csr.
//
// Invariants:
//
//   - Nobody is answered without a bootstrap token or a client certificate, except on /readyz.
//   - A request is signed, recorded and answered, or refused, recorded and answered with a metav1.Status of 4xx. What
//     cannot be recorded is not answered with a certificate.
//   - Of each node and profile one key is signed for, the first, until an operator releases it (sign-csr release). That is
//     on the disk before a certificate is given away.
//   - Nothing is read or parsed for /readyz.
//   - A record is never overwritten by another request of the same name, unless it is a denial.
//   - No name out of a request becomes a part of a path: records are named by a hash.
//   - Every file that is read for a decision or a handshake (CAs, serving pairs, client CAs, token, nodes) is read each
//     time. Replacing one needs no restart, and a broken one fails closed.
//   - No key and no token is kept in memory longer than a request, or written to a log.
//
// Goroutines: Run owns the two HTTP servers and one goroutine that keeps readiness, and ends when all have. Requests are served concurrently; those that
// create are decided one at a time, under the lock of the store. Another process is kept out by a lock on the directory.
package signcsr
