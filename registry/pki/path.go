// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"fmt"
	"slices"
)

// SelfSigned reports whether an authority is a root: its own key has signed it.
func (c *Certificate) SelfSigned() bool { return c.IsCA && c.MayBeAcceptedBy(c) }

// Path returns the issuers of an authority among known certificates, nearest first, up to a self-signed root. It is
// empty for a root, and if no root is known. Of several paths it is the shortest that all verifiers accept, else the
// shortest. CheckPath says what is wrong with it.
func (c *Certificate) Path(known []*Certificate, by Verifiers) []*Certificate {
	if c == nil || len(known) == 0 || c.SelfSigned() {
		return nil
	}
	accepted := func(child, ca *Certificate) bool { return child.AcceptedBy(ca, by) }
	if path := shortest(c, known, accepted); path != nil {
		return path
	}
	return shortest(c, known, (*Certificate).SignedBy)
}

// shortest searches in breadth, and visits each certificate once.
func shortest(from *Certificate, known []*Certificate, issued func(child, ca *Certificate) bool) []*Certificate {
	below := map[Fingerprint]*Certificate{from.Fingerprint: nil}
	for open := []*Certificate{from}; len(open) > 0; open = open[1:] {
		for _, ca := range known {
			if _, seen := below[ca.Fingerprint]; seen || !issued(open[0], ca) {
				continue
			}
			below[ca.Fingerprint] = open[0]
			if ca.SelfSigned() {
				return climbed(from, ca, below)
			}
			open = append(open, ca)
		}
	}
	return nil
}

func climbed(from, root *Certificate, below map[Fingerprint]*Certificate) []*Certificate {
	var path []*Certificate
	for ca := root; !ca.Equal(from); ca = below[ca.Fingerprint] {
		path = append(path, ca)
	}
	slices.Reverse(path)
	return path
}

// CheckPath returns why one of the verifiers, which trust the last of the issuers, would refuse every leaf of c:
// a path length, or a link that they do not accept. It returns ErrRestricted. CheckLeaf of each authority on the path
// says what else is wrong with a certain leaf.
func (c *Certificate) CheckPath(issuers []*Certificate, by Verifiers) error {
	child := c
	for i, ca := range issuers {
		// The authorities below: c and the issuers before this one.
		if below := i + 1; ca.pathLength >= 0 && below > ca.pathLength {
			return fmt.Errorf("%w: the path length of %s permits %d authorities below it, and there are %d", ErrRestricted, ca.Subject, ca.pathLength, below)
		}
		if !child.AcceptedBy(ca, by) {
			return fmt.Errorf("%w: %s signed %s, and some verifiers do not find it by the key identifier or serial number there, or do not accept its constraints",
				ErrRestricted, ca.Subject, child.Subject)
		}
		child = ca
	}
	return nil
}
