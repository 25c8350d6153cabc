// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Listed are the CAs, of those that are known, that a server proves to have loaded by the list of subjects (pki.SubjectHash)
// that it sends in a handshake. A subject that could mean another known CA proves only what it proves to an assessment.
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
