// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Listed returns the known CAs that a server proves to have loaded by its list of subjects (pki.SubjectHash) in a
// handshake. A subject that could mean another known CA proves only what it proves to an assessment.
func Listed(subjects []string, known []*pki.Certificate, now time.Time) []*pki.Certificate {
	a := &assessor{now: now, authorities: known}
	var out []*pki.Certificate
	for _, ca := range known {
		if slices.Contains(subjects, ca.SubjectHash) && a.ambiguous(ca) == nil {
			out = append(out, ca)
		}
	}
	return out
}
