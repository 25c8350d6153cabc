// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ranges wants CIDRs, written as ranges: a host in one would hide how much is meant.
func (v *validator) ranges(texts []string, path *field.Path) {
	for i, text := range texts {
		r, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			v.add(field.Invalid(path.Index(i), text, "want a CIDR such as 10.0.0.0/24"))
		case r.Masked() != r:
			v.add(field.Invalid(path.Index(i), text, "bits of a host are set: want "+r.Masked().String()))
		}
	}
}
