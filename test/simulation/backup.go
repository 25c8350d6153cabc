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

// backup is a former state of all objects of the namespace. It lacks nodes, which register again by themselves.
type backup struct {
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
	records    map[string]*configv1alpha1.RotationRecord
	state      *inventory.Sources
}

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

// load restores all objects. Restored objects have their old resource versions, while the server's own version goes
// on, as with an etcd restore that bumps the revision: caches see changes.
func (s *server) load(b *backup) {
	s.secrets, s.configMaps, s.records = maps.Clone(b.secrets), maps.Clone(b.configMaps), maps.Clone(b.records)
	s.version++
	next := *s.latest()
	next.Secrets, next.Others, next.ConfigMaps, next.Records = b.state.Secrets, b.state.Others, b.state.ConfigMaps, b.state.Records
	s.became(&next)
}

// restoresAll restores a backup, unless a handshake would then fail, which no controller can repair.
//
// It keeps two limits (docs/protocol.md), as evidence and times in a backup are old: processes that report do so
// again before a leader reconciles, and processes that promise to load in time load at once. Nothing is restored
// while a process that must report cannot.
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
	for _, h := range w.histories {
		// The restored roster may be older than the abort, and than what people took out.
		h.aborted, h.removed = nil, nil
	}
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

// startsLater reports whether a process started while clocks were ahead, at a time that is still in the future. Its
// reports are refused until then.
func (w *world) startsLater(p *process) bool { return p.startedAt.After(w.clock.now()) }
