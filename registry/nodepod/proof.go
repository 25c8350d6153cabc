// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"

	"certrotation.dev/registry/pki"
)

// Prove compares the copies of a revision with the hashes recorded when it was made. The failure is "" if they agree.
func Prove(r Revision, c Content) (failure string) {
	if c.ContentHash() != r.ContentHash || c.RestartHash() != r.RestartHash {
		return fmt.Sprintf("the copies of revision %d are not what ConfigMap/%s recorded of them: they were changed or replaced; "+
			"what runs is known again with the next revision", r.Number, StatusName(r.Number))
	}
	return ""
}

// Trusts returns the anchors under a key of a ConfigMap of the content.
func Trusts(c Content, configMap, key string) (anchors []pki.Fingerprint, failure string) {
	text, ok := c.ConfigMaps[configMap][key]
	if !ok {
		return nil, fmt.Sprintf("the revision that runs has no key %s in its ConfigMap %s: the next revision brings it", key, configMap)
	}
	list, err := pki.ParseBundle(text)
	if err != nil {
		// Do not quote the text: it is public, but another client wrote it, and it may be long.
		return nil, fmt.Sprintf("the revision that runs has a bundle that cannot be read under the key %s of its ConfigMap %s", key, configMap)
	}
	for _, anchor := range list {
		anchors = append(anchors, anchor.Fingerprint)
	}
	return anchors, ""
}

// Presents returns the leaves under the given keys of a Secret of the content. A key that does not exist, as before
// the first revision with a new leaf, or that cannot be parsed, is presented by no process. Only certificate keys are
// read.
func Presents(c Content, secret string, keys []string) []pki.Fingerprint {
	var leaves []pki.Fingerprint
	for _, key := range keys {
		chain, err := pki.ParseChain(c.Secrets[secret][key])
		if err != nil || len(chain) == 0 {
			continue
		}
		leaves = append(leaves, chain[0].Fingerprint)
	}
	return leaves
}
