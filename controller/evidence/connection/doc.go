// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connection puts the failures of connections into words that are the same at each attempt, so that a member
// that stays away makes news once. The texts of package net hold local ports, those of crypto/x509 the current time.
//
// It consists of pure functions.
package connection
