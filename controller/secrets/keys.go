// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"crypto"

	"certrotation.dev/registry/pki"
)

// Keys are the private keys of authorities outside of the cluster, as a hardware module or a key management service has them. The
// Secret of such an authority has its certificate alone.
type Keys interface {
	// Key is the one of an edition of an authority, by the name of its Secret. It is made if there is none, of this algorithm. Whoever
	// asks again gets the same one, from other replicas too.
	Key(ctx context.Context, namespace, secret string, algorithm pki.KeyAlgorithm) (crypto.Signer, error)
}
