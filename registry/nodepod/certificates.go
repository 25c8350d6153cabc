// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// Bundle is a file with trust anchors.
type Bundle struct {
	// Path relative to the generation.
	Path    string
	Anchors []*pki.Certificate
}

// Pair is a certificate and its key.
type Pair struct {
	// Name of the leaf, such as etcd-peer-node-1, and the paths of its two files relative to the generation.
	Name, Cert, Key string
	// Certificate and the certificates after it in its file. Also set when only the key is wrong.
	Certificate *pki.Certificate
	Chain       []*pki.Certificate
}

// GenerationContent is the parsed content of a generation's files.
type GenerationContent struct {
	Bundles []Bundle
	Pairs   []Pair
}

const (
	certEnding = ".crt"
	keyEnding  = ".key"
)

// ParseContent parses the certificates among the files of a generation, keyed by their paths relative to it, and
// finds defects. In ConfigMaps, *.crt are bundles of anchors. In Secrets, NAME.crt beside NAME.key is a pair. If
// there are anchors, one of them must have signed its certificate. A certificate without a key belongs to an
// authority, or is not our business.
//
// It does not know which bundle a pair is for. It ignores dates: a node must be able to go back to an older
// generation.
func ParseContent(files map[string][]byte) (GenerationContent, Defects) {
	var content GenerationContent
	var defects Defects
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if path.Ext(name) != certEnding || !strings.HasPrefix(name, configMaps+"/") {
			continue
		}
		anchors, err := pki.ParseBundle(files[name])
		if err != nil {
			defects.Add(Unparsable, name, "it is no bundle of trust anchors: %v", err)
			continue
		}
		content.Bundles = append(content.Bundles, Bundle{Path: name, Anchors: anchors})
	}
	for _, name := range names {
		if path.Ext(name) != certEnding || !strings.HasPrefix(name, secrets+"/") {
			continue
		}
		if _, ok := files[keyOf(name)]; ok {
			content.Pairs = append(content.Pairs, content.parsePair(files, name, &defects))
		} else if _, err := pki.ParseChain(files[name]); err != nil {
			defects.Add(Unparsable, name, "it is no certificate: %v", err)
		}
	}
	return content, defects
}

func keyOf(cert string) string { return strings.TrimSuffix(cert, certEnding) + keyEnding }

func (c *GenerationContent) parsePair(files map[string][]byte, name string, defects *Defects) Pair {
	p := Pair{Name: strings.TrimSuffix(path.Base(name), certEnding), Cert: name, Key: keyOf(name)}
	certs, err := pki.CheckPair(files[p.Cert], files[p.Key])
	if len(certs) > 0 {
		p.Certificate, p.Chain = certs[0], certs[1:]
	}
	switch {
	case p.Certificate == nil:
		defects.Add(Unparsable, p.Cert, "it is no certificate: %v", err)
	case errors.Is(err, pki.ErrKeyMismatch):
		defects.Add(KeyMismatch, p.Key, "it is not the key of the certificate %s: the pair has to come from one Secret in one state", path.Base(p.Cert))
	case err != nil:
		defects.Add(Unparsable, p.Key, "it is no pair with %s: %v", path.Base(p.Cert), err)
	case len(c.Bundles) > 0 && c.Signer(&p) == nil:
		defects.Add(Untrusted, p.Cert, "its signer %.200q is not among the %d trust anchors of the same generation", p.Certificate.Issuer, c.anchors())
	}
	return p
}

// Signer returns an anchor that is the certificate of a pair or has signed it, possibly through the certificates
// after it in its file. Of several, it returns the one that is valid longest; nil if there is none.
func (c *GenerationContent) Signer(p *Pair) *pki.Certificate {
	var best *pki.Certificate
	last := p.Certificate
	for range 1 + len(p.Chain) {
		if last == nil {
			break
		}
		for i := range c.Bundles {
			for _, anchor := range c.Bundles[i].Anchors {
				if (last.Equal(anchor) || last.SignedBy(anchor)) && (best == nil || anchor.NotAfter.After(best.NotAfter)) {
					best = anchor
				}
			}
		}
		if best != nil {
			break
		}
		last = signerIn(p.Chain, last)
	}
	return best
}

func signerIn(chain []*pki.Certificate, c *pki.Certificate) *pki.Certificate {
	at := slices.IndexFunc(chain, func(other *pki.Certificate) bool { return !other.Equal(c) && c.SignedBy(other) })
	if at < 0 {
		return nil
	}
	return chain[at]
}

func (c *GenerationContent) anchors() int {
	n := 0
	for i := range c.Bundles {
		n += len(c.Bundles[i].Anchors)
	}
	return n
}

// Bundle returns the bundle at a path relative to the generation, nil if there is none.
func (c *GenerationContent) Bundle(path string) *Bundle {
	for i := range c.Bundles {
		if c.Bundles[i].Path == path {
			return &c.Bundles[i]
		}
	}
	return nil
}

// PairOf returns the pair whose certificate is at a path relative to the generation, nil if there is none.
func (c *GenerationContent) PairOf(cert string) *Pair {
	for i := range c.Pairs {
		if c.Pairs[i].Cert == cert {
			return &c.Pairs[i]
		}
	}
	return nil
}
