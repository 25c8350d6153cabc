// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"sort"
	"time"
)

// masters are the nodes whose static pods are rolled out.
var masters = []string{"master-0", "master-1", "master-2"}

// revision of a rollout.
type revision struct {
	at time.Duration
	// restarts says that trust has changed, so that the static pods are restarted.
	restarts bool
}

// rollout of a domain's revisions to the masters.
type rollout struct {
	namespace, name string
	revisions       []revision
}

// rolloutOf is what follows from the rotations of a domain: a revision with the new anchor, one with the new leaves, and one
// without the old anchor.
func rolloutOf(d *domain) *rollout {
	r := &rollout{namespace: d.namespace, name: d.name}
	for i := range d.rotations {
		x := &d.rotations[i]
		r.revisions = append(r.revisions, revision{x.begin + 20*time.Second, true}, revision{x.endOf("Reissuing") - 30*time.Second, false},
			revision{x.endOf("Draining"), true})
	}
	return r
}

// latest is the number of the newest revision at a moment.
func (r *rollout) latest(at time.Duration) int {
	return 7 + sort.Search(len(r.revisions), func(i int) bool { return r.revisions[i].at > at })
}

// installed is when a node, by its number, has a revision.
func (v revision) installed(node int) time.Duration {
	if v.restarts {
		return v.at + time.Duration(node+1)*restart
	}
	return v.at + time.Duration(node+1)*40*time.Second
}

// current is the revision of a node at a moment, and for how long it has not been the latest.
func (r *rollout) current(node int, at time.Duration) (number int, pending time.Duration) {
	latest := r.latest(at)
	if latest == 7 {
		return latest, 0
	}
	v := r.revisions[latest-8]
	if at < v.installed(node) {
		return latest - 1, at - v.at
	}
	return latest, 0
}

// waits says for what the rollout waits at a moment, "" for nothing, and since when.
func (r *rollout) waits(at time.Duration) (reason string, since time.Duration) {
	for node := range masters {
		if _, pending := r.current(node, at); pending > 0 {
			v := r.revisions[r.latest(at)-8]
			begun := v.at
			if node > 0 {
				begun = v.installed(node - 1)
			}
			if !v.restarts || at < begun+30*time.Second {
				return "InstallerPodPending", begun
			}
			return "StaticPodPending", begun + 30*time.Second
		}
	}
	return "", 0
}

// healthy is how many voters answer at a moment: one that restarts does not for a while.
func (r *rollout) healthy(at time.Duration) int {
	if reason, since := r.waits(at); reason == "StaticPodPending" && at < since+40*time.Second {
		return len(masters) - 1
	}
	return len(masters)
}
