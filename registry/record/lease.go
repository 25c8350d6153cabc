// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// RenewalDue reports whether half of an observation's lease is over, counted from the observation. It is also due if
// the observing clock was ahead: by a correct clock, that lease might never end.
func RenewalDue(o *trust.Observation, now time.Time) bool {
	return !now.Before(RenewAt(o)) || o.ObservedAhead(now)
}

// RenewAt returns when half of an observation's lease is over.
func RenewAt(o *trust.Observation) time.Time {
	return o.ObservedAt.Add(o.Expires.Sub(o.ObservedAt) / 2)
}

// Live returns the observations whose leases have not ended. It does not change its argument.
func Live(observations []trust.Observation, now time.Time) []trust.Observation {
	var live []trust.Observation
	for i := range observations {
		if observations[i].Expires.After(now) {
			live = append(live, observations[i])
		}
	}
	return live
}

// Replaced returns the live observations, ordered by instance, with o in place of the former observation of its
// process. Standing does not renew the lease of a sole known process. So that process gets the lease of the new one:
// time to be observed before it counts as gone. The argument does not change.
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

// unproven turns observations by a clock that was ahead into failures that expire at until. A running process is
// observed again before that.
func unproven(observations []trust.Observation, until, now time.Time) []trust.Observation {
	out := slices.Clone(observations)
	for i := range out {
		if o := &out[i]; o.ObservedAhead(now) {
			o.ObservedAt, o.Expires, o.Failure = now, until, "it was observed last by a clock that was ahead"
		}
	}
	return out
}

// Standing returns the known observation of a process if report o says nothing new and the lease need not be renewed.
// It returns nil if the report must be recorded. A lease is renewed while a rotation is in flight, and while several
// processes of the member are known: a silent one is then gone. inFlight is called only if it matters.
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
