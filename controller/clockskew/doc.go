// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clockskew compares this machine's clock with the API server's. Every answer of the API server carries the time
// in its Date header, so that no request is made for it. registry/trust decides what a skew means.
//
// A Meter is safe for concurrent use and starts no goroutine.
package clockskew
