// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// backup is a former state of all objects of the namespace. Nodes register again by themselves, so they are no part of it.
type backup struct {
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
	records    map[string]*configv1alpha1.RotationRecord
	state      *inventory.Sources
}

// backsUp takes a backup of everything.
func (w *world) backsUp() bool {
	w.say("somebody takes a backup of everything")
	w.backup = w.api.save()
	return true
}

func (s *server) save() *backup {
	return &backup{
		secrets: maps.Clone(s.secrets), configMaps: maps.Clone(s.configMaps), records: maps.Clone(s.records), state: s.latest(),
	}
}

// load makes everything as it was. What is restored has the resource versions that it had, and the server's own goes on, as
// with a restore of etcd that is told to bump its revision: caches see it as changes.
func (s *server) load(b *backup) {
	s.secrets, s.configMaps, s.records = maps.Clone(b.secrets), maps.Clone(b.configMaps), maps.Clone(b.records)
	s.version++
	next := *s.latest()
	next.Secrets, next.Others, next.ConfigMaps, next.Records = b.state.Secrets, b.state.Others, b.state.ConfigMaps, b.state.Records
	s.became(&next)
}

// restoresAll brings everything back as it was at the backup, unless somebody could not handshake any more with what comes
// back: nobody is asked to make that good.
//
// Two limits are kept (docs/protocol.md), as evidence and times in a backup are of before: who reports does so again before a
// leader looks, and who is promised to load in time does that. Nothing is restored while somebody could not report.
func (w *world) restoresAll() bool {
	silent := func(p *process) bool { return p.up && w.reporting(p) && (!p.reachable || w.startsLater(p)) }
	if w.backup == nil || w.topology.startsPods() {
		return false
	}
	if w.topology.pods && (w.wrong || w.mistyped || !w.allRecorded() || slices.ContainsFunc(w.processes, func(p *process) bool { return p.pod != nil && p.pod.unlabelled })) || slices.ContainsFunc(w.processes, silent) {
		return false
	}
	now := w.api.save()
	w.api.load(w.backup)
	if w.strictly(w.check) != nil {
		w.api.load(now)
		return false
	}
	w.say("somebody restores everything from a backup")
	w.counts.event(restoredAll)
	w.backup = nil
	w.objectWritten()
	for _, p := range w.processes {
		if !p.up {
			continue
		}
		if p.within > 0 {
			w.load(p, everything)
		}
		w.reportsAtStart(p)
	}
	return true
}

// startsLater says whether a process started while clocks were ahead, at a time that has not come yet: until then its reports are
// refused.
func (w *world) startsLater(p *process) bool { return p.startedAt.After(w.clock.now()) }
