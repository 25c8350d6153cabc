// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package csr decides which certificate signing requests the bootstrap signer signs, and signs them. It is pure: no
// I/O, and no clock but an argument.
//
// The signer works before a kube-apiserver can keep CertificateSigningRequests and before an approver exists. So
// rules alone decide, and everything not listed is refused:
//
//   - A request is for one [Profile]. Three fields must agree on it: spec.signerName, the only organization and
//     the prefix of the common name. A configured node ([Nodes]) follows the prefix.
//   - The subject is exactly one organization and one common name. There is at least one alternative name; all
//     are DNS names or IP addresses configured for that node.
//   - The requester may ask for that node ([Requester]).
//   - The certificate is made from the profile and checked fields only, and ends with its CA at the latest. A
//     request for a CA certificate or an unknown extension is refused.
//
// Every refusal is a [Refusal], with a reason for programs and a message that says what to change.
package csr
