// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"certrotation.dev/registry/trust"
)

// key is an entry of the queue: a trust domain, or, with an empty domain, what belongs to the namespace as a whole.
type key struct {
	namespace, domain string
}

// String is namespace/domain, or the namespace.
func (k key) String() string {
	if k.domain == "" {
		return k.namespace
	}
	return k.namespace + "/" + k.domain
}

// object identifies a Secret or ConfigMap.
type object struct {
	kind            trust.ObjectKind
	namespace, name string
}

func (o object) String() string { return string(o.kind) + " " + o.namespace + "/" + o.name }
