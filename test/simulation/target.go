// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

const (
	// injectionDelay is the delay within which kube-apiservers verify by a caBundle, as the operator says. watchLag
	// is how long they take at most.
	injectionDelay = 30 * time.Minute
	watchLag       = injectionDelay - promiseKept
	// hooks is the number of webhooks of the target, each with its own caBundle. apiServers is how many processes
	// call each.
	hooks, apiServers = 2, 2
)

// target is a webhook configuration. Each kube-apiserver has seen one of its versions.
type target struct {
	// versions of the object, the latest last. They are never modified.
	versions []*targetVersion
	// unseen says that it was edited by hand, and has not been observed since.
	unseen bool
}

// targetVersion is the target at one time.
type targetVersion struct {
	object  *unstructured.Unstructured
	entries []injection.Entry
	at      time.Time
}

// hook makes a process a kube-apiserver that verifies by one webhook of the target.
type hook struct {
	// entry is the index of the webhook, seen the number of versions of the target that the process has seen.
	entry, seen int
}

func hookTarget() configv1alpha1.InjectionTarget {
	return configv1alpha1.InjectionTarget{Kind: configv1alpha1.InjectValidatingWebhook, Name: "hook"}
}

func (t *target) latest() *targetVersion { return t.versions[len(t.versions)-1] }

func newTarget(now time.Time) (*target, error) {
	var list []any
	for i := range hooks {
		list = append(list, map[string]any{"name": fmt.Sprintf("hook-%d", i), "clientConfig": map[string]any{}})
	}
	object := &unstructured.Unstructured{Object: map[string]any{"webhooks": list}}
	entries, err := injection.Entries(hookTarget().Kind, object)
	return &target{versions: []*targetVersion{{object: object, entries: injection.Known(entries), at: now}}}, err
}

// puts writes anchors into the entries of the target. An entry without anchors here stays as it is.
func (w *world) puts(anchors [][]*pki.Certificate) {
	object := w.target.latest().object.DeepCopy()
	entries, err := injection.Entries(hookTarget().Kind, object)
	if err != nil {
		w.breaks(fmt.Errorf("read the entries of the target: %w", err))
		return
	}
	for i := range entries {
		entries[i].Put(anchors[i])
	}
	w.target.versions = append(w.target.versions, &targetVersion{object: object, entries: injection.Known(entries), at: w.clock.now()})
}

// lookTarget observes the target, as controller/evidence does.
func (w *world) lookTarget(m membership) {
	now := w.clock.now()
	w.target.unseen = false
	o := trust.Observation{Instance: "target", Kind: trust.CABundle, ObservedAt: now, Expires: now.Add(probeLease)}
	entries := w.target.latest().entries
	o.Trusts, o.Failure = injection.HeldByAll(entries)
	var before *trust.Observation
	for i, known := range w.recorded(m) {
		if known.Instance == o.Instance && known.Kind == o.Kind && known.Expires.After(now) {
			before = &w.recorded(m)[i]
		}
	}
	if w.anyEntry {
		for i := range entries {
			for _, ca := range entries[i].Anchors {
				o.Trusts = union(o.Trusts, []pki.Fingerprint{ca.Fingerprint})
			}
		}
	}
	if w.everHeld && before != nil {
		o.Trusts = union(o.Trusts, before.Trusts)
	}
	if o.Failure == "" {
		o.StartedAt = trust.HeldSince(&trust.Domain{}, before, o.Trusts, now)
		if w.gainedBefore && before != nil && before.Failure == "" {
			o.StartedAt = before.StartedAt
		}
	}
	w.record(m, []trust.Observation{o})
}

func (w *world) settleHooks(member string) {
	for i := range hooks * apiServers {
		p := newProcess(member, i)
		p.hook, p.up, p.startedAt = &hook{entry: i % hooks}, true, w.clock.now()
		w.processes = append(w.processes, p)
	}
}

// follows makes a kube-apiserver see this many versions of the target, and verify by the last of them.
func (w *world) follows(p *process, versions int) {
	if versions <= p.hook.seen {
		return
	}
	p.hook.seen = versions
	w.verifiesBy(p, w.target.versions[versions-1])
}

// verifiesBy makes a kube-apiserver verify by a version of the target. With an empty caBundle it verifies no leaf
// of this world.
func (w *world) verifiesBy(p *process, v *targetVersion) {
	anchors := v.entries[p.hook.entry].Anchors
	for m := range p.roles {
		if p.pools[m.domain] = w.verifier.pool(anchors); len(anchors) == 0 {
			delete(p.pools, m.domain)
		}
	}
}

// watches makes every kube-apiserver see what it must have seen by now.
func (w *world) watches() {
	if w.target == nil {
		return
	}
	for _, p := range w.processes {
		if p.hook == nil {
			continue
		}
		for i, v := range w.target.versions {
			if !v.at.Add(watchLag).After(w.clock.now()) {
				w.follows(p, i+1)
			}
		}
	}
}

// lookInterval is how often the target is observed while time passes. looksInPass is how often at the end of a long
// time: long enough for what was added before to count.
const (
	lookInterval = 4 * time.Minute
	looksInPass  = int(injectionDelay/lookInterval) + 3
)

// passesWatched lets time pass. It mostly observes the target again and again, as a lease is shorter than the
// delay.
func (w *world) passesWatched(d time.Duration) {
	looks := min(looksInPass, int(d/lookInterval))
	if w.target == nil || in(w.dice, 3, "nobody looks") {
		looks = 0
	}
	w.clock.set(w.clock.now().Add(d - time.Duration(looks)*lookInterval))
	for range looks {
		w.clock.set(w.clock.now().Add(lookInterval))
		w.watches()
		for _, domain := range w.domains().Domains {
			for i := range domain.Parties {
				if p := &domain.Parties[i]; p.Kind == trust.CABundle {
					w.lookTarget(membership{domain: domain.Name, party: p.Name, member: p.Members[0].Name})
				}
			}
		}
	}
}
