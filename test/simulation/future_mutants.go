// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// futureMutants close a way back from a time that has not come.
func futureMutants() []mutant {
	only := []string{"leader", "clocks", "load and observe", "loss of a bundle", "time"}
	return []mutant{
		{
			name: "what is lost stays lost while a clock is in doubt", make: acting(keepsLost), only: only,
			often: []string{"clocks", "loss of a bundle"}, breaks: []string{"NoSilentWait"},
		},
		{
			name: "the signer of the future stays", make: func() Protocol { return trust.Assess }, only: only,
			loosens: func(o *options) { o.keepsFuture = true }, often: []string{"clocks"}, breaks: []string{"NoSilentWait"},
		},
	}
}

// keepsLost publishes nothing while a clock is in doubt.
func keepsLost(_ *trust.Domain, _ time.Time, a *trust.Assessment) {
	if fromTheFuture(a) {
		a.Actions = slices.DeleteFunc(a.Actions, func(x trust.Action) bool {
			return x.Kind == trust.PublishAnchors || x.Kind == trust.UpdateLeafAnchors
		})
	}
}

// fromTheFuture reports whether something is recorded at a time that has not come.
func fromTheFuture(a *trust.Assessment) bool {
	return slices.ContainsFunc(a.Problems, func(p trust.Problem) bool { return p.Reason == trust.ReasonClockSkewed })
}
