// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"time"

	"certrotation.dev/registry/trust"
)

// passRestarts tells the members of a domain that are probed on a node when the static pod of that node has started: what
// a probe saw of the process before says nothing about the one that runs now.
//
// The start is by the clock of the node. One that is ahead would make every probe look old, so the start counts as no
// later than it was seen.
func passRestarts(parties []trust.Party) {
	started := map[string]time.Time{}
	for i := range parties {
		if parties[i].Kind != trust.StaticPodRevision {
			continue
		}
		for _, m := range parties[i].Members {
			for i := range m.Observations {
				if start := startOf(&m.Observations[i]); start.After(started[m.Name]) {
					started[m.Name] = start
				}
			}
		}
	}
	for i := range parties {
		if parties[i].Kind != trust.TLSProbe {
			continue
		}
		for j := range parties[i].Members {
			m := &parties[i].Members[j]
			m.RestartedAt = started[m.Name]
		}
	}
}

func startOf(o *trust.Observation) time.Time {
	if o.StartedAt.After(o.ObservedAt) {
		return o.ObservedAt
	}
	return o.StartedAt
}
