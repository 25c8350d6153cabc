// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// RenewalDue says whether half of the lease of an observation is over, counted from when it was observed, or whether it was made by a
// clock that was ahead: by one that is right, that lease would never be over.
func RenewalDue(o *trust.Observation, now time.Time) bool {
	return !now.Before(RenewAt(o)) || o.ObservedAhead(now)
}

// RenewAt is when half of the lease of an observation is over.
func RenewAt(o *trust.Observation) time.Time {
	return o.ObservedAt.Add(o.Expires.Sub(o.ObservedAt) / 2)
}

// Live returns the observations whose leases have not ended. The argument is not changed.
func Live(observations []trust.Observation, now time.Time) []trust.Observation {
	var live []trust.Observation
	for i := range observations {
		if observations[i].Expires.After(now) {
			live = append(live, observations[i])
		}
	}
	return live
}

// Replaced returns the live observations with that of one process in the place of its former one, ordered by instance.
// A process that was the only one known need not have renewed its lease before this one came (Standing): it counts for as
// long as the new one, so that it is heard before it is taken for gone. The argument is not changed.
func Replaced(observations []trust.Observation, o *trust.Observation, now time.Time) []trust.Observation {
	observations = unproven(observations, o.Expires, now)
	if len(observations) == 1 && observations[0].Kind == o.Kind && observations[0].Instance != o.Instance {
		only := observations[0]
		only.Expires = later(only.Expires, o.Expires)
		observations = []trust.Observation{only}
	}
	out := slices.DeleteFunc(Live(observations, now), func(former trust.Observation) bool { return former.Instance == o.Instance })
	out = append(out, *o)
	slices.SortFunc(out, byInstance)
	return out
}

// unproven has what was observed by a clock that was ahead prove nothing, and end: who runs is observed again until then.
func unproven(observations []trust.Observation, until, now time.Time) []trust.Observation {
	out := slices.Clone(observations)
	for i := range out {
		if o := &out[i]; o.ObservedAhead(now) {
			o.ObservedAt, o.Expires, o.Failure = now, until, "it was observed last by a clock that was ahead"
		}
	}
	return out
}

// Standing returns what is known of a process if its report o says nothing new and its lease need not be renewed, nil if
// the report has to be recorded. A lease is renewed while a rotation is in flight, and while several processes of the
// member are known: who is then silent is gone. inFlight is asked only if that matters.
func Standing(known []trust.Observation, o *trust.Observation, now time.Time, inFlight func() bool) *trust.Observation {
	at := slices.IndexFunc(known, func(k trust.Observation) bool { return k.Instance == o.Instance })
	if at < 0 || !Same(&known[at], o) || !known[at].Expires.After(now) {
		return nil
	}
	if RenewalDue(&known[at], now) && (len(known) > 1 || inFlight()) {
		return nil
	}
	return &known[at]
}

func later(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}
