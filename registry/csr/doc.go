// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package csr decides which certificate signing requests the bootstrap signer signs, and signs them. It is pure: no
// I/O, and no clock but an argument.
//
// The signer exists for the time before there is a kube-apiserver that could keep CertificateSigningRequests, and before
// there is anybody who could approve one. So every request is decided by rules alone, and what is not listed is refused:
//
//   - A request is for one [Profile], which three fields must name in agreement: spec.signerName, the only organization and
//     the prefix of the common name. What follows the prefix is a node, which must be configured ([Nodes]).
//   - The subject is exactly one organization and one common name. The alternative names are some of those that are
//     configured for that node, at least one, and of no other kind than DNS names and IP addresses.
//   - The requester may ask for that node ([Requester]).
//   - The certificate is made of the profile and of what was checked; nothing is copied from the request unseen. It ends
//     with its CA at the latest, and a request for a CA certificate or an unknown extension is refused.
//
// Every refusal is a [Refusal], with a reason that programs can compare and a message that says what to change.
package csr
