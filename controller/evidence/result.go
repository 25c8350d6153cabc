// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// probeResult is the result of one connection, or of several combined.
type probeResult struct {
	// met reports whether the server has proven to hold the key of its leaf, and the leaf belongs to the trust
	// domain. Only failure and detail are set otherwise.
	met bool
	// asks reports whether the server asks for a client certificate.
	asks bool
	// subjects are the hashes of the subjects of acceptable CAs that the server lists.
	subjects []string
	// trusts are the CAs whose client leaf the server has verified.
	trusts   []pki.Fingerprint
	presents []pki.Fingerprint
	// until is when a presented recovered leaf ends; see trust.Observation.
	until time.Time
	// failure describes what is wrong. It is empty if nothing is.
	failure string
	// detail has more for the log, if failure must not tell.
	detail string
}

// differing is the failure of an address whose processes answer differently.
func differing(address string) string {
	return fmt.Sprintf("several processes answer at %s and they differ: name the address of each process", address)
}

// alike reports whether two connections could have met the same process in the same state.
func (x *probeResult) alike(y *probeResult) bool {
	return x.asks == y.asks && sameSet(x.subjects, y.subjects) && sameSet(x.presents, y.presents)
}

// and combines two results of one address. x may be nil. The result accepts what both accept, presents what either
// presents, and fails if either fails.
func (x *probeResult) and(y *probeResult) *probeResult {
	if x == nil {
		return y
	}
	return &probeResult{
		met: x.met && y.met, asks: x.asks && y.asks,
		subjects: common(x.subjects, y.subjects), trusts: common(x.trusts, y.trusts),
		presents: union(x.presents, y.presents), until: later(x.until, y.until), failure: cmp.Or(x.failure, y.failure),
		detail: cmp.Or(x.detail, y.detail),
	}
}

// improvesOn reports whether a probeResult is better than the record of the process. before may be nil. A better one
// accepts another CA, presents other leaves, or ends a failure. A probeResult with a failure is never better.
func (x *probeResult) improvesOn(before *trust.Observation) bool {
	switch {
	case !x.met || x.failure != "":
		return false
	case before == nil || before.Failure != "":
		return true
	}
	return !within(x.subjects, before.TrustedSubjects) || !within(x.trusts, before.Trusts) || !sameSet(x.presents, before.Presents)
}

func sameSet[S ~string](x, y []S) bool { return within(x, y) && within(y, x) }

func within[S ~string](x, y []S) bool {
	return !slices.ContainsFunc(x, func(s S) bool { return !slices.Contains(y, s) })
}

func common[S ~string](x, y []S) []S {
	return slices.DeleteFunc(slices.Clone(x), func(s S) bool { return !slices.Contains(y, s) })
}

func union[S ~string](x, y []S) []S {
	out := slices.Concat(x, y)
	slices.Sort(out)
	return slices.Compact(out)
}
