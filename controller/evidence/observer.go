// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"

	"certrotation.dev/registry/trust"
)

// observer observes the members whose evidence is of a kind.
type observer struct {
	kind trust.EvidenceKind
	// has reports whether a member has what is observed.
	has func(*trust.Member) bool
	// observe returns the observations of all processes of a member. An error says nothing about the member.
	observe func(*Collector, context.Context, *subject) ([]trust.Observation, error)
}

var observers = []observer{probeObserver, placedObserver, startedObserver, mountedObserver, targetObserver}

// observerOf returns the observer of a kind, nil if nothing is observed for it.
func observerOf(kind trust.EvidenceKind) *observer {
	for i := range observers {
		if observers[i].kind == kind {
			return &observers[i]
		}
	}
	return nil
}

func hasPod(m *trust.Member) bool { return m.Pod != nil }

func anyMember(*trust.Member) bool { return true }
