// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issuer asks cert-manager for a new certificate: it sets the condition Issuing of the Certificate that a Secret
// names, as `cmctl renew` does. Whether a certificate was issued is read from the Secret alone, by registry/trust.
//
// Invariants:
//
//   - Only a Certificate that delivers into the Secret is asked, and only one that is not being issued.
//   - A request is one write of the status with its resource version. Nothing else of a Certificate is written, and no
//     Secret is.
//
// It has no goroutines.
package issuer
