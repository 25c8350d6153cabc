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

// sighting is what one connection has shown, or several that were put together.
type sighting struct {
	// met says that the server has proven that it holds the key of what it presents, and that this is of the trust domain; the
	// rest, but for failure and detail, is set only then.
	met bool
	// asks says that the server asks for a client certificate.
	asks bool
	// subjects are the hashes of the subjects that it lists as those of acceptable authorities.
	subjects []string
	// trusts are the CAs that it has seen to verify a client leaf of.
	trusts   []pki.Fingerprint
	presents []pki.Fingerprint
	// until is when what is presented ends, if it was recovered; see trust.Observation.
	until time.Time
	// failure says what is wrong, "" if nothing is.
	failure string
	// detail says more, for the log alone, where failure must not.
	detail string
}

// differing says that an address is answered in different ways, and what to do about it.
func differing(address string) string {
	return fmt.Sprintf("several processes answer at %s and they differ: name the address of each process", address)
}

// alike says whether two connections could have met the same process in the same state.
func (x *sighting) alike(y *sighting) bool {
	return x.asks == y.asks && sameSet(x.subjects, y.subjects) && sameSet(x.presents, y.presents)
}

// and puts two sightings of one address together, x may be nil: what is accepted is accepted by both, what is presented by
// either, and a failure of either is one of both.
func (x *sighting) and(y *sighting) *sighting {
	if x == nil {
		return y
	}
	return &sighting{
		met: x.met && y.met, asks: x.asks && y.asks,
		subjects: common(x.subjects, y.subjects), trusts: common(x.trusts, y.trusts),
		presents: union(x.presents, y.presents), until: later(x.until, y.until), failure: cmp.Or(x.failure, y.failure),
		detail: cmp.Or(x.detail, y.detail),
	}
}

// promises says whether a sighting would make more follow than what is recorded of the process, nil for nothing: a CA is
// newly accepted, another leaf is presented than before, one is not presented any more, or a failure is over. Nothing
// follows from what was seen with a failure.
func (x *sighting) promises(before *trust.Observation) bool {
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
