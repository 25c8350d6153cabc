// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signer reads the pairs of a signer Secret, keys included: for who signs a leaf, or moves the slots. Nothing of it
// is kept, and no error quotes what it could not read.
//
// It consists of pure functions.
package signer
