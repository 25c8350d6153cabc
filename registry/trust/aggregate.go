// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"certrotation.dev/registry/pki"
)

// Action kinds on aggregates.
const (
	// WriteAggregateSecret writes all pairs into the aggregate Secret, from live reads of the leaves.
	WriteAggregateSecret ActionKind = "WriteAggregateSecret"
	// WriteAggregateConfigMap writes all bundles into the aggregate ConfigMap, from live reads of the bundles.
	WriteAggregateConfigMap ActionKind = "WriteAggregateConfigMap"
)

// Aggregate is the state of a namespace's aggregate Secret and ConfigMap.
type Aggregate struct {
	Secret    Object
	ConfigMap Object
	// Leaves are the names of the leaves that belong into the Secret, ordered.
	Leaves []string
	// Pairs are the leaves that are in the Secret, by name; a pair whose key does not belong to its certificate is
	// left out.
	Pairs map[string]pki.Fingerprint
	// Bundles are the keys of the ConfigMap and the bundles they are copied from, ordered by key.
	Bundles []AggregatedBundle
	// Anchors are what the ConfigMap holds, by key.
	Anchors map[string][]pki.Fingerprint
	// Foreign are keys of the Secret or ConfigMap that do not belong there, such as those of a node that left.
	Foreign []string
}

// AggregatedBundle is one bundle inside the aggregate ConfigMap.
type AggregatedBundle struct {
	Key    string
	Bundle string
}

// AssessAggregate says how to bring an aggregate up to date with its sources. Nothing is written before every source
// exists and is readable: what runs keeps what it has.
func AssessAggregate(a *Aggregate, leaves map[string]*Leaf, bundles map[string]*Bundle) ([]Action, []Blocker) {
	return nil, nil
}
