// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verifiers asks the programs that people run whether they accept a certificate, and compares their answers
// with the two relations of registry/pki: what AcceptedBy promises, all of them accept; what any of them accepts,
// MayBeAcceptedBy knows.
//
// A [PKI] is an authority and a leaf of random shape: key identifiers, string types of names, signature algorithms,
// constraints and usages. A [Verifier] is crypto/x509, or a program of this machine: OpenSSL, GnuTLS's certtool, and
// Java.
package verifiers
