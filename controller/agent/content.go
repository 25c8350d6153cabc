// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"

	"certrotation.dev/controller/reload"
	"certrotation.dev/registry/pki"
)

// content is the content of the mounted files. It is immutable.
type content struct {
	// leaf is nil without a certificate, and anchors is empty without a bundle.
	leaf    *pki.Certificate
	anchors []*pki.Certificate
}

func readContent(certificate, anchors string) (*content, error) {
	data, err := reload.Read(certificate, anchors)
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
		read, err := pki.ParseAnchors(data[1])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", anchors, err)
		}
		c.anchors = read.Certificates
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

// shown reports whether a proof covers all of the content and, if there is a bundle, no other anchor.
func (c *content) shown(proof *reload.Loaded) bool {
	return (c.leaf == nil || slices.Contains(proof.Presents, c.leaf.Fingerprint)) && c.unseen(proof) == nil && c.surplus(proof) == ""
}

// surplus is an anchor that the program still trusts and that is no longer mounted, "" if there is none. Without a
// bundle the right anchors are unknown, so nothing is surplus.
func (c *content) surplus(proof *reload.Loaded) pki.Fingerprint {
	for _, fingerprint := range proof.Trusts {
		if len(c.anchors) > 0 && !slices.Contains(fingerprints(c.anchors), fingerprint) {
			return fingerprint
		}
	}
	return ""
}

// unseen is a mounted anchor that the proof does not show as loaded, nil if there is none.
func (c *content) unseen(proof *reload.Loaded) *pki.Certificate {
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

// remember adds content to what a lagging program may still show. It never shrinks: a pod mounts few certificates in
// its life.
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
