// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selfcert provides certrotation's own serving certificates, from a trust domain that it rotates.
//
// A Provider runs in each replica of serve. It watches one signer Secret and mints a leaf in memory from the active
// CA. It mints another when the CA changes or two thirds of the leaf's life are over, and serves the old one until
// then. controller/cabundle writes the bundle into our APIService, which makes kube-apiserver the relying party.
//
// Invariants:
//
//   - The Provider reads the CA's private key only to mint and does not keep it: the watch cache holds
//     certificates only. The leaf's key never leaves the process.
//   - An API server that has not seen the new anchor refuses a leaf of the new CA. So the Provider mints only
//     from the slot active, which the protocol changes last.
//
// Goroutines: Run blocks until its context and everything that it started have ended.
package selfcert
