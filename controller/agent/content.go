// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"

	"certrotation.dev/controller/acknowledge"
	"certrotation.dev/controller/mountedfiles"
	"certrotation.dev/registry/pki"
)

// content is what is mounted. It never changes.
type content struct {
	// leaf is nil if there is no certificate to present, anchors are none if there is no bundle.
	leaf    *pki.Certificate
	anchors []*pki.Certificate
}

func readContent(certificate, anchors string) (*content, error) {
	data, err := mountedfiles.Read(certificate, anchors)
	if err != nil {
		return nil, err
	}
	c := &content{}
	if certificate != "" {
		chain, err := pki.ParseChain(data[0])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", certificate, err)
		}
		c.leaf = chain[0]
	}
	if anchors != "" {
		if c.anchors, err = pki.ParseBundle(data[1]); err != nil {
			return nil, fmt.Errorf("read %s: %w", anchors, err)
		}
	}
	return c, nil
}

func (c *content) equal(other *content) bool {
	return c.leaf.Equal(other.leaf) && slices.EqualFunc(c.anchors, other.anchors, (*pki.Certificate).Equal)
}

func (c *content) presents() []pki.Fingerprint {
	if c.leaf == nil {
		return nil
	}
	return []pki.Fingerprint{c.leaf.Fingerprint}
}

func (c *content) leafName() string {
	if c.leaf == nil {
		return ""
	}
	return string(c.leaf.Fingerprint)
}

// shown says whether a program has shown that it has all of this, and no anchor besides.
func (c *content) shown(proof *acknowledge.Loaded) bool {
	return (c.leaf == nil || slices.Contains(proof.Presents, c.leaf.Fingerprint)) && c.unseen(proof) == nil && c.surplus(proof) == ""
}

// surplus is an anchor that a program still has and that is mounted no more, "" if there is none. Without a bundle nothing is
// known of what there should be.
func (c *content) surplus(proof *acknowledge.Loaded) pki.Fingerprint {
	for _, fingerprint := range proof.Trusts {
		if len(c.anchors) > 0 && !slices.Contains(fingerprints(c.anchors), fingerprint) {
			return fingerprint
		}
	}
	return ""
}

// unseen is an anchor that a program has not shown to have loaded, nil if there is none.
func (c *content) unseen(proof *acknowledge.Loaded) *pki.Certificate {
	for _, anchor := range c.anchors {
		if !slices.Contains(proof.Trusts, anchor.Fingerprint) {
			return anchor
		}
	}
	return nil
}

func fingerprints(certs []*pki.Certificate) []pki.Fingerprint {
	var out []pki.Fingerprint
	for _, cert := range certs {
		out = append(out, cert.Fingerprint)
	}
	return out
}

// remember keeps what a program that lags may still show. What a pod has mounted in its life is little.
func (a *Agent) remember(c *content) {
	if c.leaf != nil {
		a.leaves[c.leaf.Fingerprint] = true
	}
	for _, anchor := range c.anchors {
		if !slices.ContainsFunc(a.known, anchor.Equal) {
			a.known = append(a.known, anchor)
		}
	}
}
