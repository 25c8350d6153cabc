// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/storage"
	btree "k8s.io/apiserver/pkg/storage/cacher/store"
)

// selection is the part of the objects that a list or watch selects.
type selection struct {
	key       string
	recursive bool
	predicate storage.SelectionPredicate
}

// newSelection normalizes a predicate whose selectors may be nil.
func newSelection(key string, opts storage.ListOptions) selection {
	predicate := opts.Predicate
	if predicate.Label == nil {
		predicate.Label = labels.Everything()
	}
	if predicate.Field == nil {
		predicate.Field = fields.Everything()
	}
	return selection{key: key, recursive: opts.Recursive, predicate: predicate}
}

// covers reports whether a key is in the range of keys.
func (s *selection) covers(key string) bool {
	if s.recursive {
		return strings.HasPrefix(key, s.key)
	}
	return key == s.key
}

// matches reports whether the selectors select an element. They are applied to the attributes that the store computed
// when the element was stored, not to those that the predicate would compute.
func (s *selection) matches(element *btree.Element) bool {
	if element == nil || !s.predicate.MatchesObjectAttributes(element.Labels, element.Fields) {
		return false
	}
	if s.predicate.ShardSelector == nil {
		return true
	}
	inShard, err := s.predicate.MatchesSharding(element.Object)
	return err == nil && inShard
}
