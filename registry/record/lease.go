// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// RenewalDue says whether half of the lease of an observation is over, counted from when it was observed.
func RenewalDue(o *trust.Observation, now time.Time) bool {
	return !now.Before(RenewAt(o))
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
// The argument is not changed.
func Replaced(observations []trust.Observation, o *trust.Observation, now time.Time) []trust.Observation {
	out := slices.DeleteFunc(Live(observations, now), func(former trust.Observation) bool { return former.Instance == o.Instance })
	out = append(out, *o)
	slices.SortFunc(out, byInstance)
	return out
}
