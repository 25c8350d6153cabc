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

// selection is the set of objects that a list or watch selects.
type selection struct {
	key       string
	recursive bool
	predicate storage.SelectionPredicate
	// attributes is Config.GetAttrs.
	attributes storage.AttrFunc
}

// newSelection replaces nil selectors of the predicate.
func (s *Store) newSelection(key string, opts storage.ListOptions) selection {
	predicate := opts.Predicate
	if predicate.Label == nil {
		predicate.Label = labels.Everything()
	}
	if predicate.Field == nil {
		predicate.Field = fields.Everything()
	}
	return selection{key: key, recursive: opts.Recursive, predicate: predicate, attributes: s.cfg.GetAttrs}
}

func (s *selection) covers(key string) bool {
	if s.recursive {
		return strings.HasPrefix(key, s.key)
	}
	return key == s.key
}

// matches reports whether the selectors select an element. It uses the attributes that the store computes, not those
// that the predicate would compute. Most requests have no selector, so the store does not keep the attributes.
func (s *selection) matches(element *btree.Element) bool {
	if element == nil {
		return false
	}
	if !s.predicate.Label.Empty() || !s.predicate.Field.Empty() {
		labels, fields, err := s.attributes(element.Object)
		if err != nil || !s.predicate.MatchesObjectAttributes(labels, fields) {
			return false
		}
	}
	if s.predicate.ShardSelector == nil {
		return true
	}
	inShard, err := s.predicate.MatchesSharding(element.Object)
	return err == nil && inShard
}
