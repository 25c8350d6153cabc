// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verifiers asks the programs that people run whether they accept a certificate, and compares their answers
// with the two relations of registry/pki along paths:
//
//   - all accept a leaf if each link of a path leaf → … → anchor is AcceptedBy, each certificate is valid, the anchor is in
//     the file of anchors and has signed itself, and no other anchor there may be mistaken for an issuer on the path;
//   - if any accepts it, links that are MayBeAcceptedBy lead from it to an anchor of the file.
//
// A path goes on with what the peer presents, and with the file. An intermediate alone in the file proves nothing: OpenSSL
// refuses it.
//
// A [PKI] is of random shape: key identifiers, string types of names, signature algorithms, constraints and usages; dates;
// an intermediate or a cross certificate; what is presented; what is in the file, in which order, how often, and beside
// which other anchors. A [Verifier] is crypto/x509, or a program of this machine: OpenSSL, GnuTLS's certtool, NSS's
// vfychain, Java, and a few lines of C with BoringSSL.
package verifiers
