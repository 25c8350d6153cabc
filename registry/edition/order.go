// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

// Order sorts the editions of one name, the oldest first, by the first of these in which two differ:
//
//	their number                   if all have one: Gardener gives none
//	the time of their rotation     who was never rotated is older than who was
//	the beginning of validity      if it is known of all
//	the time of creation
//	the name                       so that everybody has one order
//
// That a criterion counts for all or for none keeps it an order.
func Order(of []*Edition) {
	numbered := !slices.ContainsFunc(of, func(e *Edition) bool { return e.number() == 0 })
	dated := !slices.ContainsFunc(of, func(e *Edition) bool { return e.Issued.IsZero() })
	slices.SortFunc(of, func(a, b *Edition) int {
		byNumber, byDate := 0, 0
		if numbered {
			byNumber = cmp.Compare(a.number(), b.number())
		}
		if dated {
			byDate = a.Issued.Compare(b.Issued)
		}
		return cmp.Or(
			byNumber, cmp.Compare(a.rotation(), b.rotation()), byDate, a.Created.Compare(b.Created),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace),
		)
	})
}

// rotation is when an edition's rotation began, in Unix seconds; the least number for none.
func (e *Edition) rotation() int64 {
	at, ok := parseUnix(e.Labels[LabelLastRotationInitiationTime])
	if !ok {
		return math.MinInt64
	}
	return at.Unix()
}

// RotatedAfter says whether an edition was rotated after a time of rotation that somebody gives, in Unix seconds. A name that he says
// was never rotated he may not know of.
func (e *Edition) RotatedAfter(given string) bool {
	at, ok := parseUnix(given)
	return ok && e.rotation() > at.Unix()
}

// ByName are the editions of each name, the oldest first.
func ByName(all []*Edition) map[string][]*Edition {
	out := map[string][]*Edition{}
	for _, e := range all {
		out[e.name()] = append(out[e.name()], e)
	}
	for _, of := range out {
		Order(of)
	}
	return out
}

// NextNumber is the one of an edition that follows these.
func NextNumber(of []*Edition) string {
	var most int64
	for _, e := range of {
		most = max(most, e.number())
	}
	return strconv.FormatInt(most+1, 10)
}

// Rotation is what is known of the rotations of a name.
type Rotation struct {
	// Time is when the last one began, in Unix seconds, "" for never.
	Time string
	// Renews is the edition that is due for renewal, nil for none.
	Renews *Edition
}

// Rotations are those of each name: that of its newest edition, or a new one if that is due for renewal. Authorities are renewed
// only if that is wanted, as whoever trusts one has to know of it.
func Rotations(byName map[string][]*Edition, authorities bool, now time.Time) map[string]Rotation {
	out := map[string]Rotation{}
	for name, of := range byName {
		newest := of[len(of)-1]
		out[name] = Rotation{Time: newest.Labels[LabelLastRotationInitiationTime]}
		if newest.Due(now) && (authorities || !newest.Authority) {
			out[name] = Rotation{Time: newest.renewal(), Renews: newest}
		}
	}
	return out
}

// renewal is the time of rotation of what renews an edition: when that was due, which is the same for everybody, and after that
// of its own rotation.
func (e *Edition) renewal() string {
	at, _ := e.RenewAt()
	if last := e.rotation(); at.Unix() <= last {
		at = time.Unix(last+1, 0)
	}
	return UnixText(at)
}

// Former are the editions of a name in the namespace of the current one without that, the newest first.
func Former(of []*Edition, current *Edition) []*Edition {
	out := slices.DeleteFunc(slices.Clone(of), func(e *Edition) bool {
		return e.NamespacedName == current.NamespacedName || e.Namespace != current.Namespace
	})
	slices.Reverse(out)
	return out
}

// Kept are those of the former editions of a name, the newest first, that still count while a rotation is under way: the newest, which is
// the old one, and authorities before it that have signed what is still there. A rotation that overtakes another one cuts nobody off so.
func Kept(former, all []*Edition, now time.Time) []*Edition {
	var out []*Edition
	for at, e := range former {
		signed := func(leaf *Edition) bool { return !leaf.Expired(now) && e.Signed(leaf) }
		if at == 0 || !e.Expired(now) && slices.ContainsFunc(all, signed) {
			out = append(out, e)
		}
	}
	return out
}

// Signs says whether an authority may sign at a moment. One that has expired is no anchor any more, and what it signs nobody accepts.
func (e *Edition) Signs(now time.Time) bool {
	return e.Authority && !e.Expired(now) && !now.Before(e.Issued)
}

// Signed says whether an edition is a leaf that an authority has signed.
func (e *Edition) Signed(leaf *Edition) bool {
	by := leaf.Labels[LabelChecksumSigningCA]
	return e.Authority && by != "" && by == SignerLabel(e.Checksum)
}
