// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// configurationEdit is an edit that makes the configuration wrong about the processes.
type configurationEdit struct {
	what string
	// make changes a trust domain. It reports whether there was something to change.
	make func(w *world, d *configv1alpha1.TrustDomain) bool
	// guarded says that only the guard protects from the edit: no roster has what it changes.
	guarded bool
}

func configurationEdits(pods bool) []configurationEdit {
	out := []configurationEdit{
		{"removes a relying party from", (*world).removesParty, false},
		{"removes a member from a relying party of", (*world).removesMember, false},
		{"asks for no more than a second of grace in", (*world).hurries, false},
		{"has a relying party verify nothing in", (*world).verifiesNothing, false},
		{"says that no evidence is needed in", (*world).needsNone, false},
		{"applies the configuration of last year, without a client, to", (*world).lastYear, false},
		{"has somebody else be probed in", (*world).probesElsewhere, true},
		{"takes silence for life for longer in", (*world).lengthensLease, true},
		{"lets a leaf go, by its name, of", (*world).releasesLeaf, true},
		{"names a member that does not exist in", (*world).namesNobody, true},
	}
	if pods {
		out = append(out, selectorEdits()...)
	}
	return out
}

// editsRoster changes the members that count while a rotation is in flight, with the guard or past it, as a restore
// does. At rest the configuration is true: it is corrected before the next rotation begins.
func (w *world) editsRoster() bool { return w.editsBy(configurationEdits(w.topology.pods)) }

func (w *world) editsBy(edits []configurationEdit) bool {
	at := w.dice.roll(len(w.domains().Domains), "domain")
	d := w.domains().Domains[at]
	if !w.rotating(d) || w.mistyped || w.mistaken || w.topology.pods && !w.allRecorded() {
		return false
	}
	cfg := w.api.configuration.DeepCopy()
	e := one(w.dice, "edit of the configuration", edits)
	if at >= len(cfg.Spec.TrustDomains) || !e.make(w, &cfg.Spec.TrustDomains[at]) {
		return false
	}
	if e.guarded && w.unguarded {
		return false
	}
	return w.configures(cfg, e.what+" "+d.Name, !e.guarded && in(w.dice, 2, "past the guard"))
}

// configures applies a configuration if it is valid, and if the guard admits it or is bypassed.
func (w *world) configures(cfg *configv1alpha1.RotationConfiguration, what string, past bool) bool {
	after := configured(w.api.latest(), cfg)
	if after.Configurations[cfg.Name].Loaded == nil {
		w.counts.refusedEdits++
		w.say("somebody %s: it is invalid", what)
		return true
	}
	if reason := w.guardConfiguration(cfg.Name, after); reason != "" && !past && !w.unguarded {
		w.counts.refusedEdits++
		w.say("somebody %s: refused, %s", what, reason)
		return true
	}
	w.counts.edits++
	w.counts.event(rosterEdit)
	w.say("somebody %s", what)
	w.api.putConfiguration(cfg, w.clock.now())
	w.wrong = true
	return true
}

// guardConfiguration returns the webhook's refusal of an edit of the configuration, "" if there is none.
func (w *world) guardConfiguration(name string, after *inventory.Sources) string {
	if reason := w.guard(after); reason != "" {
		return reason
	}
	before := w.domains().Configured()
	if w.unwaived {
		before = withoutWaivers(before)
	}
	judged := trust.JudgeConfiguration(name, before, inventory.Build(shown(after)).Configured(), w.clock.now())
	if found := judged.Violations; len(found) > 0 {
		return string(found[0].Invariant) + ": " + found[0].Message
	}
	return ""
}

// rotating reports whether the content shows a rotation in flight.
func (w *world) rotating(d *trust.Domain) bool {
	return d.Signer.Active != nil && (d.Signer.Next != nil || len(d.Signer.Previous) > 0)
}

// putsRight applies the configuration that is true of the processes.
func (w *world) putsRight() {
	w.say("somebody puts the configuration right")
	w.api.putConfiguration(w.configuration, w.clock.now())
	w.wrong, w.mistyped, w.mistaken = false, false, false
}

// settleConfiguration corrects the configuration when a domain is at rest.
func (w *world) settleConfiguration() {
	if !w.wrong {
		return
	}
	for i := range w.configuration.Spec.TrustDomains {
		if d := w.domain(w.configuration.Spec.TrustDomains[i].Name); d != nil && w.rotating(d) {
			continue
		}
		w.putsRight()
		return
	}
}

func (w *world) anyParty(d *configv1alpha1.TrustDomain) *configv1alpha1.RelyingParty {
	if len(d.RelyingParties) == 0 {
		return nil
	}
	return &d.RelyingParties[w.dice.roll(len(d.RelyingParties), "party")]
}

func (w *world) removesParty(d *configv1alpha1.TrustDomain) bool {
	if len(d.RelyingParties) < 2 {
		return false
	}
	at := w.dice.roll(len(d.RelyingParties), "party")
	d.RelyingParties = slices.Delete(d.RelyingParties, at, at+1)
	return true
}

func (w *world) removesMember(d *configv1alpha1.TrustDomain) bool {
	p := w.anyParty(d)
	if p == nil || len(p.Members) < 2 {
		return false
	}
	gone := p.Members[0]
	p.Members = p.Members[1:]
	if p.Evidence.TLSProbe != nil {
		p.Evidence.TLSProbe.Endpoints = slices.DeleteFunc(p.Evidence.TLSProbe.Endpoints,
			func(e configv1alpha1.ProbeEndpoint) bool { return e.Member == gone })
	}
	return true
}

func (w *world) hurries(d *configv1alpha1.TrustDomain) bool {
	p := w.anyParty(d)
	if p == nil || p.Evidence.Kind == configv1alpha1.EvidenceCABundle {
		return false
	}
	p.Evidence = configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceGracePeriod, GracePeriod: &metav1.Duration{Duration: time.Second}}
	return true
}

func (w *world) verifiesNothing(d *configv1alpha1.TrustDomain) bool {
	p := w.anyParty(d)
	if p == nil || len(p.Presents) == 0 {
		return false
	}
	p.Verifies = configv1alpha1.LeafSelection{Nothing: true}
	return true
}

func (w *world) needsNone(d *configv1alpha1.TrustDomain) bool {
	p := w.anyParty(d)
	if p == nil || p.Evidence.Kind == configv1alpha1.EvidenceCABundle {
		return false
	}
	p.Evidence = configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceNone, Reason: "in a hurry"}
	return true
}

// probesElsewhere makes a server's probe address that of another server.
func (w *world) probesElsewhere(d *configv1alpha1.TrustDomain) bool {
	p := w.anyParty(d)
	if p == nil || p.Evidence.TLSProbe == nil || len(p.Evidence.TLSProbe.Endpoints) < 2 {
		return false
	}
	endpoints := p.Evidence.TLSProbe.Endpoints
	endpoints[0].Address = endpoints[1].Address
	return true
}

func (w *world) lengthensLease(d *configv1alpha1.TrustDomain) bool {
	p := w.anyParty(d)
	if p == nil || p.Evidence.Kind != configv1alpha1.EvidenceAcknowledgement {
		return false
	}
	p.Evidence.Lease = &metav1.Duration{Duration: 720 * time.Hour}
	return true
}

// releasesLeaf releases a leaf, with the party that presents it.
func (w *world) releasesLeaf(d *configv1alpha1.TrustDomain) bool {
	if !w.lastYear(d) {
		return false
	}
	d.ReleasedLeaves = append(d.ReleasedLeaves, "client-0")
	return true
}

func (w *world) lastYear(d *configv1alpha1.TrustDomain) bool {
	if len(w.topology.clientKinds) == 0 || w.topology.aggregate {
		return false
	}
	before := len(d.Leaves) + len(d.RelyingParties)
	d.Leaves = slices.DeleteFunc(d.Leaves, func(l configv1alpha1.Leaf) bool { return l.SecretName == "client-0" })
	d.RelyingParties = slices.DeleteFunc(d.RelyingParties, func(p configv1alpha1.RelyingParty) bool { return p.Name == "client-0" })
	return before > len(d.Leaves)+len(d.RelyingParties)
}

// shortensPolicy halves the validity of signers and leaves: existing certificates may be due at once.
func (w *world) shortensPolicy() bool {
	cfg := w.configuration.DeepCopy()
	for i := range cfg.Spec.TrustDomains {
		d := &cfg.Spec.TrustDomains[i]
		if d.Signer.Policy.Validity.Duration <= 30*24*time.Hour {
			return false
		}
		d.Signer.Policy.Validity = &metav1.Duration{Duration: d.Signer.Policy.Validity.Duration / 2}
		for k := range d.Leaves {
			d.Leaves[k].Policy.Validity = &metav1.Duration{Duration: d.Leaves[k].Policy.Validity.Duration / 2}
		}
	}
	if w.wrong || w.mistyped || configured(w.api.latest(), cfg).Configurations[cfg.Name].Loaded == nil {
		return false
	}
	w.say("somebody has certificates be valid for half as long")
	w.counts.event(policyEdit)
	w.configuration = cfg
	w.api.putConfiguration(cfg, w.clock.now())
	return true
}

// nodeLosesLabel takes the label from a node, so that the selector does not choose it, or gives the label back.
func (w *world) nodeLosesLabel() bool {
	name := w.anyNode()
	if name == "" {
		return false
	}
	node := *w.api.nodes[name]
	node.Labels = maps.Clone(node.Labels)
	if _, labelled := node.Labels[nodeRole]; labelled {
		delete(node.Labels, nodeRole)
		w.counts.event(unlabelled)
		w.say("%s loses its label", name)
	} else {
		node.Labels = map[string]string{nodeRole: "server"}
		w.say("%s gets its label back", name)
	}
	w.api.putNode(name, &node)
	return true
}

// nodeLosesObject deletes a Node object while the machine runs. The next event of this kind makes its kubelet
// register it again, as another object.
func (w *world) nodeLosesObject() bool {
	if !w.topology.onNodes() {
		return false
	}
	if len(w.unregistered) > 0 {
		w.registers(in(w.dice, 2, "another address"))
		return true
	}
	name := w.anyNode()
	if name == "" || len(w.api.nodes) < 2 {
		return false
	}
	w.say("the object of %s is deleted, and the machine runs on", name)
	w.counts.event(unregistered)
	w.unregistered = append(w.unregistered, name)
	w.api.putNode(name, nil)
	return true
}

// registers registers machines again whose objects were deleted, with the same address or another one.
func (w *world) registers(moved bool) {
	for _, name := range w.unregistered {
		w.say("%s registers again (with another address: %t)", name, moved)
		w.register(name)
		if moved {
			w.counts.event(movedNode)
			node := *w.api.nodes[name]
			node.Addresses = []string{fmt.Sprintf("10.0.2.%d", w.registered%250)}
			w.api.putNode(name, &node)
		}
		for _, p := range w.processesOf(name) {
			p.machine, p.formerly = w.uidOf(name), append(p.formerly, p.machine)
		}
	}
	w.unregistered = nil
}

// renamesParty renames the party of the nodes at rest. The processes stay the same, and nothing is known of them
// under the new name. If the selector does not choose a node at that time, the node stops counting
// (docs/protocol.md).
func (w *world) renamesParty() bool {
	unchosen := func(n *inventory.Node) bool { return n.Labels[nodeRole] == "" }
	if len(w.unregistered) > 0 || slices.ContainsFunc(slices.Collect(maps.Values(w.api.nodes)), unchosen) {
		return false
	}
	if !w.topology.onNodes() || w.wrong || w.recovery != nil || !w.allStable() {
		return false
	}
	cfg, names := w.configuration.DeepCopy(), map[string]string{"servers": "machines", "machines": "servers"}
	for i := range cfg.Spec.TrustDomains {
		for k := range cfg.Spec.TrustDomains[i].RelyingParties {
			if p := &cfg.Spec.TrustDomains[i].RelyingParties[k]; p.ForEachNode != nil {
				p.Name = names[p.Name]
			}
		}
	}
	if reason := w.guardConfiguration(cfg.Name, configured(w.api.latest(), cfg)); reason != "" && !w.unguarded {
		w.counts.refusedEdits++
		w.say("somebody gives the party of the nodes another name: refused, %s", reason)
		return true
	}
	w.say("somebody gives the party of the nodes another name")
	w.counts.event(renamedParty)
	w.configuration = cfg
	w.api.putConfiguration(cfg, w.clock.now())
	for _, p := range w.processes {
		p.isOf(names)
	}
	// A rotation that begins with the former name waits for it.
	for _, l := range w.leaders {
		l.view.catchUp()
	}
	return true
}

// isOf moves a process to the renamed parties.
func (p *process) isOf(names map[string]string) {
	for m, r := range maps.Clone(p.roles) {
		if name := names[m.party]; name != "" {
			delete(p.roles, m)
			m.party = name
			p.roles[m] = r
		}
	}
	clear(p.pending)
	clear(p.replay)
}

func (w *world) anyNode() string {
	if len(w.api.nodes) == 0 {
		return ""
	}
	return one(w.dice, "node", slices.Sorted(maps.Keys(w.api.nodes)))
}
