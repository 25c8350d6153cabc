// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/podcontent"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// careless is what mutants break in the observation, injection and restart controllers.
type careless struct {
	// annotated takes the content that a pod names for the content that the object has.
	annotated bool
	// anyEntry takes what one webhook has for what all have. everHeld takes what an object ever had for what it
	// has. gainedBefore takes what it has gained for what it always had.
	anyEntry, everHeld, gainedBefore bool
	// due returns the workloads that are due for a restart, nil for trust.Restarts.
	due func(d *trust.Domain, known map[trust.Workload]trust.Progress, w *world) []trust.Restart
}

// lookStarted observes a pod that reads its files only at start, as controller/evidence does: first the pod, then
// the contents.
func (w *world) lookStarted(d *trust.Domain, of *trust.Party, member *trust.Member) {
	m := membership{domain: d.Name, party: of.Name, member: member.Name}
	if member.Pod == nil || member.Pod.Process == "" {
		return
	}
	o := &trust.Observation{Instance: member.Pod.Process, Kind: of.Kind, ObservedAt: w.clock.now(), Expires: w.clock.now().Add(probeLease)}
	known, p := w.api.latest().Pods[member.Name], w.process(member.Name)
	if known == nil || p == nil || string(known.UID) != member.Instance || known.Life.Process == "" {
		o.Failure = "the API server knows of no container that runs in it now"
		w.record(m, []trust.Observation{*o})
		return
	}
	o.Instance = known.Life.Process
	object := p.object(w.kindOfWorkloads())
	w.betweenLooks()
	before := w.sameProcess(m, o)
	asked := &podcontent.StartRequirement{Leaves: member.Holds, Assumed: of.StartAssumed}
	if !of.VerifiesNothing {
		asked.Bundle = d.Bundle.Name
	}
	o.Failure = asked.Fault(object)
	if before != nil {
		o.Trusts, o.Presents = before.Trusts, before.Presents
	}
	if o.Failure == "" && !asked.Known(before) {
		now := contentsOf(w.api.latest(), d, asked)
		if w.annotated {
			believes(now, asked, object.Annotations)
		}
		proof := asked.Prove(object, now, before)
		o.Trusts, o.Presents, o.Failure = proof.Trusts, proof.Presents, proof.Failure
	}
	w.record(m, []trust.Observation{*o})
	w.provenOf(d, o)
}

// betweenLooks lets an event happen between the two reads of an observation.
func (w *world) betweenLooks() {
	if w.looker != nil {
		w.meanwhile(w.looker)
	}
}

// sameProcess returns the earlier observation of the same process, nil if there is none.
func (w *world) sameProcess(m membership, now *trust.Observation) *trust.Observation {
	known := w.recorded(m)
	at := slices.IndexFunc(known, func(o trust.Observation) bool { return o.Instance == now.Instance && o.Kind == now.Kind })
	if at < 0 {
		return nil
	}
	return &known[at]
}

// contentsOf returns the required objects as they are in a state.
func contentsOf(s *inventory.Sources, d *trust.Domain, asked *podcontent.StartRequirement) *podcontent.Contents {
	out := &podcontent.Contents{}
	if cm := s.ConfigMaps[asked.Bundle]; cm != nil && cm.Bundle != nil && cm.Bundle.Fault == nil && trust.Consents(cm.Annotations, d.Configuration) {
		out.Bundle.Hash = cm.ContentHash
		for _, anchor := range cm.Bundle.Anchors.Certificates {
			out.Bundle.Shows = append(out.Bundle.Shows, anchor.Fingerprint)
		}
	}
	for _, name := range asked.Leaves {
		leaf := podcontent.Content{}
		if of := s.Secrets[name]; of != nil && of.Active.Fault == nil && !of.Active.Empty() && trust.Consents(of.Annotations, d.Configuration) {
			leaf = podcontent.Content{Hash: of.ContentHash, Superseded: of.Superseded, Shows: []pki.Fingerprint{of.Active.Certificates[0].Fingerprint}}
			for _, anchor := range of.Authorities.Certificates {
				leaf.Beside = append(leaf.Beside, anchor.Fingerprint)
			}
		}
		out.Leaves = append(out.Leaves, leaf)
	}
	return out
}

// believes replaces the hash of every content by the one that the pod names.
func believes(now *podcontent.Contents, asked *podcontent.StartRequirement, annotations map[string]string) {
	now.Bundle.Hash = annotations[trust.ContentAnnotation(trust.ConfigMapKind, asked.Bundle)]
	for i, leaf := range asked.Leaves {
		now.Leaves[i].Hash = annotations[trust.ContentAnnotation(trust.SecretKind, leaf)]
	}
}

// provenOf records what was proven of a process, and a violation if it is not true.
func (w *world) provenOf(d *trust.Domain, o *trust.Observation) {
	at := slices.IndexFunc(w.processes, func(p *process) bool { return p.up && p.pod != nil && p.pod.process() == o.Instance })
	if at < 0 || o.Failure != "" {
		return
	}
	p := w.processes[at]
	p.provenTrusts, p.provenPresents = union(p.provenTrusts, o.Trusts), union(p.provenPresents, o.Presents)
	if !w.truthful {
		return
	}
	for _, f := range o.Trusts {
		if pool := p.pools[d.Name]; pool == nil || !slices.ContainsFunc(pool.anchors, func(ca *pki.Certificate) bool { return ca.Fingerprint == f }) {
			w.breaks(violated("EvidenceIsTrue", "%s is recorded with an anchor %.8s that it has not read", p.name, f))
		}
	}
	for _, f := range o.Presents {
		if !slices.ContainsFunc(p.held(d.Name), func(name string) bool { return p.leaves[name] != nil && p.leaves[name].Fingerprint == f }) {
			w.breaks(violated("EvidenceIsTrue", "%s is recorded with a leaf %.8s that it has not read", p.name, f))
		}
	}
}
