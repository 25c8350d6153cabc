// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// stillCounts finds who still counts by the consequences of an edit, and in which trust domain.
var stillCounts = regexp.MustCompile(`^trust domain (\S+): (\S+) still counts until`)

// clientGoes makes a person end a client at rest, and take it and its leaf out of the configuration. The leaders see
// that. Whoever the guard said still counts must count in later rotations, and nobody else.
func (w *world) clientGoes() (bool, error) {
	cfg := w.configuration.DeepCopy()
	names := clientsOf(cfg)
	if len(names) < 2 || w.topology.pods || w.topology.aggregate || w.wrong || w.recovery != nil || len(w.api.refuses) > 0 || w.nested || !w.allStable() {
		return false, nil
	}
	name := one(w.dice, "client", names)
	for i := range cfg.Spec.TrustDomains {
		d := &cfg.Spec.TrustDomains[i]
		d.RelyingParties = slices.DeleteFunc(d.RelyingParties, func(p configv1alpha1.RelyingParty) bool { return p.Name == name })
		d.Leaves = slices.DeleteFunc(d.Leaves, func(l configv1alpha1.Leaf) bool { return l.SecretName == name })
	}
	after := configured(w.api.latest(), cfg)
	if reason := w.guardConfiguration(cfg.Name, after); reason != "" && !w.unguarded {
		w.counts.refusedEdits++
		w.say("somebody takes %s out: refused, %s", name, reason)
		return true, nil
	}
	w.say("somebody ends %s, and takes it out of the configuration", name)
	w.counts.event(clientGone)
	w.noteRemoved(name, after)
	if w.left == nil {
		w.left = map[string]bool{}
	}
	w.left[name] = true
	w.configuration = cfg
	w.api.putConfiguration(cfg, w.clock.now())
	w.processes = slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return p.member == name })
	w.apply(&edit{what: "deletes the leaf of " + name, kind: trust.SecretKind, name: name})
	if w.topology.issued {
		w.apply(&edit{what: "deletes what is issued for " + name, kind: trust.SecretKind, name: w.topology.issuedIn(name)})
	}
	faultless := w.faultless
	w.faultless = true
	defer func() { w.faultless = faultless }()
	err := w.leadersLook()
	w.forgetRecorded(name)
	return true, err
}

// forgetRecorded expects nothing of a member that the roster still has, as after a crash: a rotation that begins with it
// waits for it.
func (w *world) forgetRecorded(name string) {
	for _, d := range w.domains().Domains {
		if d.Roster != nil && slices.ContainsFunc(d.Roster.Members, func(m trust.RosterMember) bool { return m.Party == name }) {
			delete(w.history(d.Name).removed, name)
		}
	}
}

// allStable reports whether every trust domain is at rest.
func (w *world) allStable() bool {
	return !slices.ContainsFunc(w.domains().Domains, func(d *trust.Domain) bool {
		return d.Signer.Active == nil || trust.Assess(w.seen(d), w.clock.now()).Stage != trust.Stable
	})
}

// clientsOf returns the parties of clients, ordered.
func clientsOf(cfg *configv1alpha1.RotationConfiguration) []string {
	found := map[string]bool{}
	for i := range cfg.Spec.TrustDomains {
		for _, p := range cfg.Spec.TrustDomains[i].RelyingParties {
			if strings.HasPrefix(p.Name, "client-") {
				found[p.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// noteRemoved records of a member that leaves the configuration in which domains it is said to count on.
func (w *world) noteRemoved(name string, after *inventory.Sources) {
	judged := trust.JudgeConfiguration(w.configuration.Name, w.domains().Configured(), inventory.Build(shown(after)).Configured(), w.clock.now())
	said := map[string]bool{}
	for _, text := range judged.Consequences {
		if found := stillCounts.FindStringSubmatch(text); found != nil {
			said[found[1]+"/"+found[2]] = true
		}
	}
	for _, d := range w.domains().Domains {
		h := w.history(d.Name)
		if h.removed == nil {
			h.removed = map[string]bool{}
		}
		h.removed[name] = said[d.Name+"/"+name]
	}
}

// checkRemoved checks that of the members that have left the configuration at rest those count in a rotation that were
// said to.
func (w *world) checkRemoved() error {
	for _, d := range w.domains().Domains {
		removed := w.history(d.Name).removed
		if len(removed) == 0 || !w.rotating(d) {
			continue
		}
		members := w.protocol(w.seen(d), w.clock.now()).Members
		for name, said := range removed {
			counts := slices.ContainsFunc(members, func(m trust.MemberAssessment) bool { return m.Party == name })
			if counts != said {
				return violated("WhoCounts", "%s has left %s at rest, was said to count on: %t, and counts: %t", name, d.Name, said, counts)
			}
		}
	}
	return nil
}

// removalMutants are wrong about who counts after an edit at rest.
func removalMutants() []mutant {
	return []mutant{{
		name: "who has left at rest counts on", make: leaversStay, shape: reportingClients,
		only: []string{"leader", "rotate", "client goes", "load", "observe"}, often: []string{"client goes"}, breaks: []string{"WhoCounts"},
	}}
}

// leaversStay takes every party that was ever configured for one that still is.
func leaversStay() Protocol {
	known := map[string]trust.Party{}
	return func(d *trust.Domain, now time.Time) *trust.Assessment {
		told := copyOf(d)
		for _, p := range d.Parties {
			known[d.Name+"/"+p.Name] = p
		}
		for _, key := range slices.Sorted(maps.Keys(known)) {
			if domain, party, _ := strings.Cut(key, "/"); domain == d.Name && d.Party(party) == nil {
				told.Parties = append(told.Parties, known[key])
			}
		}
		return trust.Assess(told, now)
	}
}

// reportingClients makes worlds with a server and two clients that report.
func reportingClients(t *topology) {
	reporters(t)
	t.clientKinds = append(t.clientKinds, configv1alpha1.EvidenceAcknowledgement)
}
