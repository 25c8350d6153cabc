// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Keys of a signer Secret, two for each Slot. Those of the active slot always exist, as the Secret type requires.
const (
	ActiveCertKey   = corev1.TLSCertKey
	ActiveKeyKey    = corev1.TLSPrivateKeyKey
	NextCertKey     = "next-tls.crt"
	NextKeyKey      = "next-tls.key"
	PreviousCertKey = "previous-tls.crt"
	PreviousKeyKey  = "previous-tls.key"
)

// Keys of a signer Secret for a key that waits for its certificate, and the request for it.
const (
	RequestKeyKey = "next-request.key"
	RequestCSRKey = "next-request.csr"
)

// AuthorityKey is the key of a leaf Secret for the certificate of its signer. The leaf's own pair is in the active
// slot.
const AuthorityKey = corev1.ServiceAccountRootCAKey

// BundleKey is the key of a bundle ConfigMap.
const BundleKey = "ca-bundle.crt"

// Suffixes of the keys of an aggregate Secret, after the name of the leaf.
const (
	aggregateCertSuffix = ".crt"
	aggregateKeySuffix  = ".key"
)

// AggregateKeys returns the keys of a leaf's certificate and private key in an aggregate Secret.
func AggregateKeys(leaf string) (cert, key string) {
	return leaf + aggregateCertSuffix, leaf + aggregateKeySuffix
}

// aggregatedLeaf returns the leaf whose certificate is under a key of an aggregate Secret.
func aggregatedLeaf(key string) (string, bool) {
	return strings.CutSuffix(key, aggregateCertSuffix)
}
