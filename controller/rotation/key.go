// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"certrotation.dev/registry/trust"
)

// key is an entry of the queue: a trust domain, or, with an empty domain, what belongs to the namespace as a whole.
type key struct {
	namespace, domain string
	// status is set for the statuses of the configurations of the namespace.
	status bool
}

// String is namespace/domain, or the namespace.
func (k key) String() string {
	switch {
	case k.status:
		return "the statuses of " + k.namespace
	case k.domain == "":
		return k.namespace
	}
	return k.namespace + "/" + k.domain
}

// object identifies an object that is written.
type object struct {
	kind            trust.ObjectKind
	namespace, name string
}

func (o object) String() string { return string(o.kind) + " " + o.namespace + "/" + o.name }
