// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"
	"time"

	"certrotation.dev/registry/trust"
)

func TestPassRestarts(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	seen := func(started, observed time.Time) []trust.Observation {
		return []trust.Observation{{StartedAt: started, ObservedAt: observed}}
	}
	for _, test := range []struct {
		name string
		pods []trust.Member
		want time.Time
	}{
		{"no record", []trust.Member{{Name: "a"}}, time.Time{}},
		{"a start", []trust.Member{{Name: "a", Observations: seen(at, at.Add(time.Second))}}, at},
		{"a start that nobody knows", []trust.Member{{Name: "a", Observations: seen(time.Time{}, at)}}, time.Time{}},
		{"the clock of the node is ahead", []trust.Member{{Name: "a", Observations: seen(at.Add(time.Hour), at)}}, at},
		{"the start of another node", []trust.Member{{Name: "b", Observations: seen(at, at)}}, time.Time{}},
		{"the later process of two", []trust.Member{
			{Name: "a", Observations: append(seen(at.Add(time.Minute), at.Add(time.Hour)), seen(at, at)...)},
		}, at.Add(time.Minute)},
		{"the later of two", []trust.Member{
			{Name: "a", Observations: seen(at.Add(time.Minute), at.Add(time.Hour))}, {Name: "a", Observations: seen(at, at)},
		}, at.Add(time.Minute)},
	} {
		t.Run(test.name, func(t *testing.T) {
			parties := []trust.Party{
				{Kind: trust.TLSProbe, Members: []trust.Member{{Name: "a"}}},
				{Kind: trust.StaticPodRevision, Members: test.pods},
				{Kind: trust.Acknowledgement, Members: []trust.Member{{Name: "a"}}},
			}
			passRestarts(parties)
			if got := parties[0].Members[0].RestartedAt; !got.Equal(test.want) {
				t.Errorf("restarted at %s, want %s", got, test.want)
			}
			if got := parties[2].Members[0].RestartedAt; !got.IsZero() {
				t.Errorf("who acknowledges was restarted at %s", got)
			}
		})
	}
}
