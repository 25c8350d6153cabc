// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"

	"certrotation.dev/registry/truststore"
)

// MaxTrustStores bounds the keys of a bundle that AnnotationTrustStores names: there are two formats.
const MaxTrustStores = 8

// TrustStore is a key of a bundle ConfigMap under which the anchors are written in another format than PEM.
type TrustStore struct {
	Key      string
	Format   truststore.Format
	Password string
}

// ParseTrustStores reads the annotation AnnotationTrustStores: the keys that were written as trust stores.
func ParseTrustStores(text string) []string {
	keys := slices.Collect(strings.SplitSeq(text, ","))
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	return keys[:min(len(keys), MaxTrustStores)]
}

func formatTrustStores(stores []TrustStore) string {
	keys := make([]string, 0, len(stores))
	for _, store := range stores {
		keys = append(keys, store.Key)
	}
	return strings.Join(keys, ",")
}

// withStores completes a write of the bundle: its trust stores get the anchors of that write.
func (a *assessor) withStores(action *Action) *Action {
	b := &a.d.Bundle
	action.Stores = b.Stores
	if len(b.Stores) > 0 {
		action.Annotations[AnnotationTrustStores] = formatTrustStores(b.Stores)
	} else if _, had := b.Annotations[AnnotationTrustStores]; had {
		action.RemoveAnnotations = append(action.RemoveAnnotations, AnnotationTrustStores)
	}
	return action
}

// mendStores writes trust stores that do not match the anchors of the bundle, and removes unwanted ones. A client of
// an unmaintained file would refuse the next CA.
func (a *assessor) mendStores(*Assessment) *Action {
	b := &a.d.Bundle
	if !b.Present || len(b.Anchors) == 0 {
		return nil
	}
	reason := ""
	for _, store := range b.Stores {
		if b.StoreDigests[store.Key] != truststore.Digest(store.Format, store.Password, b.Anchors) {
			reason = store.Key + " does not have the anchors of the bundle"
		}
	}
	if reason == "" && b.Annotations[AnnotationTrustStores] != formatTrustStores(b.Stores) {
		reason = "its trust stores are not those of the configuration"
	}
	if reason == "" {
		return nil
	}
	return a.bundleAction(WriteTrustStores, b.Anchors, reason)
}
