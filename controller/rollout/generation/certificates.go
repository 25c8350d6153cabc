// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// Endings of files that are looked into.
const (
	certEnding = ".crt"
	keyEnding  = ".key"
)

// checkCertificates finds what is wrong with the certificates among the files of a generation. In ConfigMaps, *.crt are
// bundles of anchors. In Secrets, NAME.crt with NAME.key beside it is a pair, whose certificate one of the anchors has to
// have signed, if there are any. Which bundle a pair is for is not known here, and dates are not looked at: a node must
// be able to go back to what it had.
func checkCertificates(files map[string][]byte) []Finding {
	var findings []Finding
	var anchors []*pki.Certificate
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if path.Ext(name) != certEnding || !strings.HasPrefix(name, configMaps+"/") {
			continue
		}
		bundle, err := pki.ParseBundle(files[name])
		if err != nil {
			findings = append(findings, finding(BadCertificate, name, "it is no bundle of trust anchors: %v", err))
		}
		anchors = append(anchors, bundle...)
	}
	for _, name := range names {
		if path.Ext(name) == certEnding && strings.HasPrefix(name, secrets+"/") {
			findings = append(findings, checkPair(files, name, anchors)...)
		}
	}
	return findings
}

// checkPair checks a certificate in a Secret. One without a key is one of an authority, or none of our business.
func checkPair(files map[string][]byte, name string, anchors []*pki.Certificate) []Finding {
	keyName := strings.TrimSuffix(name, certEnding) + keyEnding
	key, ok := files[keyName]
	if !ok {
		if _, err := pki.ParseChain(files[name]); err != nil {
			return []Finding{finding(BadCertificate, name, "it is no certificate: %v", err)}
		}
		return nil
	}
	chain, err := pki.CheckPair(files[name], key)
	switch {
	case errors.Is(err, pki.ErrKeyMismatch):
		return []Finding{finding(KeyMismatch, keyName, "it is not the key of the certificate %s: the pair has to come from one Secret in one state", path.Base(name))}
	case err != nil:
		return []Finding{finding(BadCertificate, name, "it is no pair with %s: %v", path.Base(keyName), err)}
	case len(anchors) > 0 && !chainsTo(chain, anchors):
		return []Finding{finding(UnknownAuthority, name, "its signer %q is not among the %d trust anchors of the same generation", describeIssuer(chain), len(anchors))}
	}
	return nil
}

// chainsTo tells whether the first certificate is an anchor, or signed by one, possibly through those that follow it.
func chainsTo(chain, anchors []*pki.Certificate) bool {
	last := chain[0]
	for range chain {
		for _, anchor := range anchors {
			if last.Equal(anchor) || last.SignedBy(anchor) {
				return true
			}
		}
		next := slices.IndexFunc(chain, func(c *pki.Certificate) bool { return !c.Equal(last) && last.SignedBy(c) })
		if next < 0 {
			return false
		}
		last = chain[next]
	}
	return false
}

func describeIssuer(chain []*pki.Certificate) string {
	return fmt.Sprintf("%.200s", chain[0].Issuer)
}
