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

// Order sorts the editions of one name, oldest first, by the first of these criteria in which two differ:
//
//	their number                   if all have one: Gardener gives none
//	the time of their rotation     an edition without one is older
//	the beginning of validity      if it is known of all
//	the time of creation
//	the name and namespace         so that all replicas have one order
//
// Number and validity count for all editions or for none: otherwise this would not be an order.
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

// rotation returns when an edition's rotation began, in Unix seconds, or the least number for none.
func (e *Edition) rotation() int64 {
	at, ok := parseUnix(e.Labels[LabelLastRotationInitiationTime])
	if !ok {
		return math.MinInt64
	}
	return at.Unix()
}

// RotatedAfter reports whether an edition was rotated after the given time, in Unix seconds. It is false if no time
// is given, because that caller may not know the name.
func (e *Edition) RotatedAfter(given string) bool {
	at, ok := parseUnix(given)
	return ok && e.rotation() > at.Unix()
}

// ByName returns the editions of each name, oldest first.
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

// NextNumber returns the number for the edition after these.
func NextNumber(of []*Edition) string {
	var most int64
	for _, e := range of {
		most = max(most, e.number())
	}
	return strconv.FormatInt(most+1, 10)
}

// Began returns when the last rotation of a name of the group began, in Unix seconds, "" for never. of are its editions,
// oldest first. They say it if no time is recorded, as a new edition would replace what is in use:
//
//	no record      it was never rotated, or the record is lost: the newest edition counts
//	after an abort of the first recorded rotation, the oldest counts: the one before it
func (r *GroupRotation) Began(of []*Edition) string {
	switch {
	case r.LastInitiationTime != nil:
		return UnixText(r.LastInitiationTime.Time)
	case len(of) == 0:
		return ""
	case r.Phase == "":
		return of[len(of)-1].Labels[LabelLastRotationInitiationTime]
	}
	return of[0].Labels[LabelLastRotationInitiationTime]
}

// Rotation is the state of a name's rotations.
type Rotation struct {
	// Time is when the last one began, in Unix seconds, "" for never.
	Time string
	// Renews is the edition that is due for renewal, nil if none is.
	Renews *Edition
}

// Rotations returns the rotation of each name: the one of its newest edition, or a new one if that edition is due for
// renewal. Authorities are renewed only if authorities is true, because their relying parties must learn of it.
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

// renewal returns the time of rotation for the successor of an edition: when that was due, which is the same for all
// replicas. It is always later than the edition's own rotation.
func (e *Edition) renewal() string {
	at, _ := e.RenewAt()
	if last := e.rotation(); at.Unix() <= last {
		at = time.Unix(last+1, 0)
	}
	return UnixText(at)
}

// Former returns the other editions of the current one's name in its namespace, newest first.
func Former(of []*Edition, current *Edition) []*Edition {
	out := slices.DeleteFunc(slices.Clone(of), func(e *Edition) bool {
		return e.NamespacedName == current.NamespacedName || e.Namespace != current.Namespace
	})
	slices.Reverse(out)
	return out
}

// Kept returns the former editions (newest first) that still count during a rotation. These are the newest, which is
// the old one, and earlier unexpired authorities that signed unexpired leaves. So a rotation that overtakes another
// one breaks no existing leaf.
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

// Signs reports whether an authority may sign at this time. An expired one is no longer an anchor, so no relying
// party accepts its signatures.
func (e *Edition) Signs(now time.Time) bool {
	return e.Authority && !e.Expired(now) && !now.Before(e.Issued)
}

// Signed reports whether this authority has signed the leaf.
func (e *Edition) Signed(leaf *Edition) bool {
	by := leaf.Labels[LabelChecksumSigningCA]
	return e.Authority && by != "" && by == SignerLabel(e.Checksum)
}
