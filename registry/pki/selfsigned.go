// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"fmt"
	"time"
)

// NewSelfSigned makes a key and a self-signed leaf certificate. Verifiers must have it as an anchor. It fails as
// Issue does for the profile.
func NewSelfSigned(p Profile, now time.Time) (*Pair, error) {
	p, err := p.Normalized()
	if err != nil {
		return nil, fmt.Errorf("make self-signed leaf: %w", err)
	}
	if err := p.checkLeaf(); err != nil {
		return nil, fmt.Errorf("make self-signed leaf: %w", err)
	}
	key, err := GenerateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("make self-signed leaf: %w", err)
	}
	// The leaf has no signer to bound it, so it bounds itself.
	bounds := &Certificate{NotBefore: now.Add(-p.Backdate), NotAfter: now.Add(p.Validity)}
	template := leafTemplate(p, bounds, now)
	return sign(template, &x509.Certificate{Subject: template.Subject}, key, key)
}
