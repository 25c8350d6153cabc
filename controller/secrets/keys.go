// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"crypto"

	"certrotation.dev/registry/pki"
)

// Keys are the private keys of CAs outside of the cluster, as in a hardware module or a key management service. The
// Secret of such a CA has its certificate alone.
type Keys interface {
	// Key returns the key of an edition of a CA, by the name of its Secret. It makes a missing key, of this
	// algorithm. A repeated call must return the same key, from other replicas too.
	Key(ctx context.Context, namespace, secret string, algorithm pki.KeyAlgorithm) (crypto.Signer, error)
}
