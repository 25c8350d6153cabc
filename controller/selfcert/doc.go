// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selfcert gives the system its own serving certificates, out of a trust domain that it rotates itself.
//
// A Provider runs in each replica of serve. It watches one signer Secret, mints a leaf for itself in memory from the
// active CA, and mints another when the CA changes or two thirds of the leaf's life are over. What it serves with stays
// until the successor is there. controller/cabundle writes the bundle of that trust domain into our APIService, which makes
// kube-apiserver the relying party.
//
// Invariants:
//
//   - The private key of the CA is read in the moment of minting and kept nowhere: the cache of the watch holds
//     certificates only. The leaf's key never leaves the process.
//   - An API server that has not seen the new anchor yet refuses a leaf of the new CA. The Provider mints from the
//     slot active alone, which the protocol changes last.
//
// Goroutines: Run blocks until its context has ended and everything that it has started has ended too.
package selfcert
