// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

// rest ends all faults: every process runs, loads and is observed again and again. In the end every domain must be
// Stable, trust one CA of its own, and no write may follow.
func (w *world) rest() error {
	dice := w.dice
	w.dice, w.faultless = quietDice{}, true
	defer func() { w.dice, w.faultless = dice, false }()
	w.say("from here on nothing goes wrong")
	if w.ahead > 0 {
		w.clocksComeBack()
	}
	w.appliesRecovery()
	if err := w.restRefused(); err != nil {
		return err
	}
	w.registers(false)
	w.lists()
	if err := w.restAborted(dice); err != nil {
		return err
	}
	for n := range 40 {
		if w.unguarded && n == 20 {
			w.startOver()
		}
		before := w.counts.writes
		if err := w.round(); err != nil {
			return err
		}
		if w.counts.writes == before && w.atRest() == nil {
			w.counts.rounds = max(w.counts.rounds, n)
			return w.lastCheck()
		}
		if n == 38 {
			w.sayWaits()
		}
		w.pass(grace)
	}
	if err := w.atRest(); err != nil {
		return err
	}
	return violated("Resumable", "writes go on for ever")
}

// restRefused goes on for a while with the refused writes. They must be told, and must not block what does not
// depend on them.
func (w *world) restRefused() error {
	if len(w.api.refuses) == 0 {
		return nil
	}
	for range 3 {
		if err := w.round(); err != nil {
			return err
		}
		w.pass(grace)
	}
	for _, p := range w.processes {
		if p.up {
			w.observe(p)
		}
	}
	// A refused reconciliation may be followed by one that does something else. What is due only since then does
	// not count.
	since := w.clock.now()
	for range 2 {
		if err := w.leadersLook(); err != nil {
			return err
		}
	}
	for _, d := range w.domains().Domains {
		if err := w.checkRefused(d, since); err != nil {
			return err
		}
	}
	clear(w.api.refuses)
	return nil
}

// checkRefused checks that every action that was due at then is done or refused, and that blockers name the refused
// writes.
func (w *world) checkRefused(d *trust.Domain, then time.Time) error {
	wanted := *w.seen(d)
	wanted.Refusals, wanted.ClockSkew = nil, w.leaders[0].off
	if _, refused := w.api.refuses["RotationRecord/"+trust.RosterRecord(d.Name)]; refused || w.unguarded || len(w.leaders) > 1 {
		return nil
	}
	now := then.Add(w.leaders[0].off)
	for _, action := range trust.Assess(&wanted, now).Actions {
		object := string(action.ObjectKind) + "/" + action.Object
		if action.Kind == trust.RequestIssuance {
			continue
		}
		if _, refused := w.api.refuses[object]; !refused {
			return violated("NoSilentWait", "%s %s is to be done and is not refused, and nobody does it", action.Kind, object)
		}
		blockers := trust.Assess(w.seen(d), now).Blockers
		if !slices.ContainsFunc(blockers, func(b trust.Blocker) bool { return b.Object == object }) {
			return violated("NoSilentWait", "%s %s is refused, and no blocker says so", action.Kind, object)
		}
	}
	return nil
}

// round lets the leaders reconcile until they do nothing. Every process is observed, loads, and is observed again.
func (w *world) round() error {
	w.restPods()
	w.restIssuer()
	for _, p := range w.processes {
		p.reachable = true
		if p.up {
			w.observe(p)
		}
	}
	if err := w.leadersLook(); err != nil {
		return err
	}
	for _, p := range w.processes {
		switch {
		case p.up:
			w.load(p, everything)
		case !w.start(p):
			continue
		}
		w.observe(p)
	}
	if w.mistaken {
		if err := w.takesNobodyOut(); err != nil {
			return err
		}
	} else if w.wrong {
		w.putsRight()
		w.lists()
	}
	w.restTarget()
	if err := w.restWorkloads(); err != nil {
		return err
	}
	w.helpOut()
	w.tick()
	if err := w.afterStep(); err != nil {
		return err
	}
	return w.leadersLook()
}

// leadersLook lets the leaders reconcile until nothing is written.
func (w *world) leadersLook() error {
	for range 30 {
		before := w.counts.writes
		for _, l := range w.leaders {
			for _, k := range w.keys() {
				w.tick()
				l.view.catchUp()
				if err := l.reconcile(k); err != nil {
					return err
				}
				w.counts.steps++
				if err := w.afterStep(); err != nil {
					return err
				}
			}
		}
		if w.counts.writes == before {
			return nil
		}
	}
	return nil
}

// startOver is the last resort of people who lost a key that leaves wait for: without signer and leaves a domain
// begins anew. The blockers must say that this is needed.
func (w *world) startOver() {
	for _, d := range w.domains().Domains {
		if len(trust.Assess(w.seen(d), w.clock.now()).Blockers) == 0 {
			continue
		}
		w.counts.faults["started over"]++
		w.apply(w.deletesSigner(d))
		w.apply(w.deletesBundle(d))
		for i := range d.Leaves {
			w.apply(&edit{what: "deletes the leaf " + d.Leaves[i].Name, kind: trust.SecretKind, name: d.Leaves[i].Name})
		}
	}
}

// keys are the keys of a leader's queue.
func (w *world) keys() []string {
	keys := []string{""}
	for _, d := range w.domains().Domains {
		keys = append(keys, d.Name)
	}
	return keys
}

// helpOut does what a person does who reads the blockers:
//
//   - abort a rotation to a CA that cannot be told apart from another one, or may not sign all leaves;
//   - mount the bundle for processes that verify by what is beside a leaf, if no CA may sign that leaf;
//   - undo what was recorded by a clock that was ahead;
//   - apply lost manifests of a recovery again;
//   - delete objects that cannot be read;
//   - end second processes that differ from the first one;
//   - delete pods that wait for a lost leaf, which waits for them;
//   - waive members that cannot run, or do not exist.
func (w *world) helpOut() {
	for _, d := range w.domains().Domains {
		a := trust.Assess(w.seen(d), w.clock.now())
		if next := d.Signer.Next; next != nil && d.Signer.Issued == nil && a.Blocked() && d.Signer.Active != nil && requestOf(d, trust.RequestAbort) == nil &&
			(next.SubjectHash == d.Signer.Active.SubjectHash || unfit(a)) {
			w.apply(w.asksToAbort(d))
		}
		if issued := d.Roster != nil && d.Roster.Issued; issued && slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return !l.Present }) {
			w.mountsBundles()
		}
		w.undoesWhatIsAhead(a)
		w.restartsWhatIsAhead()
		w.endsWhatDiffers(a)
		w.deletesWhatWaits(a)
		w.populates(d, a)
		w.waivesStrangers(d, a)
		w.waivesNobody(d, a)
		if w.appliesManifestsAgain(d, a) {
			continue
		}
		w.repair(d)
		w.clearsUp(d)
		if !w.labelsNodes() {
			w.drain(d)
			w.waivesIdle(d)
		}
	}
}

// toDelete and toRemove find what a problem says to do after a clock was ahead, toRemake what a blocker does.
var (
	toDelete = regexp.MustCompile(`, delete Secret/([^ :]+): `)
	toRemove = regexp.MustCompile(`, remove the annotation (\S+) from ConfigMap/([^ :]+): `)
	toRemake = regexp.MustCompile(`which a clock that was ahead created .*: delete Secret/([^ ,]+), and it is made anew`)
)

// undoesWhatIsAhead deletes or removes what was recorded by a clock that was ahead, as problems and blockers say.
func (w *world) undoesWhatIsAhead(a *trust.Assessment) {
	if w.ahead > 0 {
		return
	}
	for _, b := range a.Blockers {
		if named := toRemake.FindStringSubmatch(b.Message); named != nil {
			w.apply(&edit{what: "deletes " + named[1] + ", which was created in the future", kind: trust.SecretKind, name: named[1]})
		}
	}
	for i := range a.Problems {
		p := &a.Problems[i]
		if p.Reason != trust.ReasonClockSkewed {
			continue
		}
		if named := toDelete.FindStringSubmatch(p.Message); named != nil {
			w.apply(&edit{what: "deletes " + named[1] + ", which is from the future", kind: trust.SecretKind, name: named[1]})
		}
		if named := toRemove.FindStringSubmatch(p.Message); named != nil {
			w.apply(&edit{
				what: "removes times of the future from " + named[2], kind: trust.ConfigMapKind, name: named[2],
				configMap: func(cm *corev1.ConfigMap) bool {
					delete(cm.Annotations, named[1])
					return true
				},
			})
		}
	}
}

// restartsWhatIsAhead restarts processes whose start is recorded in the future, as the refusal of their reports
// says.
func (w *world) restartsWhatIsAhead() {
	for _, p := range w.processes {
		switch {
		case !p.up || !w.reporting(p) || !p.startedAt.After(w.clock.now()):
		case p.pod != nil:
			w.startPod(p)
		default:
			w.say("%s is restarted, as it has started in the future", p.name)
			w.load(p, everything)
			p.startedAt = w.clock.now()
			w.reportsAtStart(p)
		}
	}
}

// endsWhatDiffers ends second processes of members that cannot be observed because their processes differ behind
// one address. With nothing to load, as when leaves are lost, they would differ for ever.
func (w *world) endsWhatDiffers(a *trust.Assessment) {
	for _, b := range a.Blockers {
		if !strings.Contains(b.Message, "several processes answer") {
			continue
		}
		for _, p := range w.processesOf(b.Member) {
			if p.number > 0 {
				w.say("somebody ends %s, which differs from the first process behind its address", p.name)
				w.end(p)
			}
		}
	}
}

// deletesWhatWaits deletes pods that can load nothing new without a leaf that waits for them, as blockers say.
func (w *world) deletesWhatWaits(a *trust.Assessment) {
	for _, b := range a.Blockers {
		if p := w.process(b.Member); p != nil && p.pod != nil && p.up && strings.Contains(b.Message, "or delete the pod: the next one waits for the Secret") {
			w.say("somebody deletes the pod %s, which waits for a leaf that is lost", p.name)
			p.pod.succeeded = w.topology.stateful
			w.terminates(p)
		}
	}
}

func unfit(a *trust.Assessment) bool {
	return slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return b.Reason == trust.ReasonUnfitSigner })
}

// clearsUp deletes the leaves of removed nodes, as the blockers say.
func (w *world) clearsUp(d *trust.Domain) {
	for i := range d.Leaves {
		l := &d.Leaves[i]
		node := strings.TrimPrefix(l.Name, "server-")
		if l.Unnamed && w.topology.onNodes() && w.api.nodes[node] == nil && len(w.processesOf(node)) == 0 {
			w.apply(&edit{what: "deletes the leaf " + l.Name + " of a node that is gone", kind: trust.SecretKind, name: l.Name})
		}
	}
}

// labelsNodes restores the labels of nodes. It reports whether there was something to do.
func (w *world) labelsNodes() (done bool) {
	for _, name := range slices.Sorted(maps.Keys(w.api.nodes)) {
		node := w.api.nodes[name]
		if _, labelled := node.Labels[nodeRole]; !labelled {
			w.say("%s gets its label back", name)
			again := *node
			again.Labels = map[string]string{nodeRole: "server"}
			w.api.putNode(name, &again)
			done = true
		}
	}
	return done
}

// drain removes nodes that can never start. They joined after the signer's key was lost: their first leaf may be
// signed only after they have shown that they trust the new CA, and they cannot run without it. The blockers name
// them. If no node is left, a new one joins, as there is no verifier otherwise.
func (w *world) drain(d *trust.Domain) {
	if d.Signer.Active != nil || d.Signer.Next == nil {
		return
	}
	for _, p := range w.processes {
		if p.up || w.api.nodes[p.member] == nil {
			continue
		}
		w.say("somebody takes %s away, which cannot start", p.name)
		w.removeNode(p.member)
	}
	if w.topology.onNodes() && len(w.api.nodes) == 0 {
		w.join()
	}
}

func (w *world) repair(d *trust.Domain) {
	if d.Signer.Problem != nil {
		w.apply(&edit{what: "deletes the broken signer " + d.Signer.Name, kind: trust.SecretKind, name: d.Signer.Name})
	}
	if d.Bundle.Problem != nil {
		w.apply(&edit{what: "deletes the broken bundle " + d.Bundle.Name, kind: trust.ConfigMapKind, name: d.Bundle.Name})
	}
	for i := range d.Leaves {
		if l := &d.Leaves[i]; l.Problem != nil {
			w.apply(&edit{what: "deletes the broken leaf " + l.Name, kind: trust.SecretKind, name: l.Name})
		}
	}
}

// atRest returns why a domain is not at rest, nil if all are.
func (w *world) atRest() error {
	for _, d := range w.domains().Domains {
		a := w.protocol(w.seen(d), w.clock.now())
		own := 0
		for _, anchor := range a.Anchors {
			if anchor.Slot != trust.SlotForeign {
				own++
			}
		}
		switch {
		case a.Stage != trust.Stable || len(a.Actions) > 0 || len(a.Blockers) > 0:
			return violated("NoSilentWait", "%s does not come to rest: it is %s, %s", d.Name, a.Stage, outline(a))
		case own != 1:
			return violated("AnchorInUse", "at rest %s has %d anchors of its own, want 1", d.Name, own)
		}
		if err := checkIssued(d); err != nil {
			return err
		}
		for _, l := range a.Leaves {
			if !l.Usable || l.SignedBySlot != trust.SlotActive {
				return violated("TrustBeforeUse", "at rest Secret/%s is not usable, or not signed by the active CA", l.Name)
			}
		}
	}
	return nil
}

func (w *world) sayWaits() {
	for _, d := range w.domains().Domains {
		a := trust.Assess(w.seen(d), w.clock.now())
		w.say("%s is %s: %s", d.Name, a.Stage, outline(a))
	}
}

func outline(a *trust.Assessment) string {
	var text strings.Builder
	for i := range a.Actions {
		fmt.Fprintf(&text, "%s %s is to be done; ", a.Actions[i].Kind, a.Actions[i].Object)
	}
	for _, b := range a.Blockers {
		fmt.Fprintf(&text, "%s/%s%s: %s; ", b.Party, b.Member, b.Object, b.Message)
	}
	return text.String()
}

// lastCheck makes no exception: every process runs, and all handshakes succeed.
func (w *world) lastCheck() error {
	for _, h := range w.histories {
		h.dead = false
	}
	unguarded := w.unguarded
	w.unguarded, w.early = false, nil
	defer func() { w.unguarded = unguarded }()
	for _, p := range w.processes {
		if !p.up && p.runnable() {
			return violated("Handshake", "at rest %s does not start", p.name)
		}
		for name, c := range p.leaves {
			if l := w.leaf(name); p.up && l != nil && c.Expired(w.clock.now().Add(time.Minute)) {
				return violated("Handshake", "at rest %s presents a leaf that has expired", p.name)
			}
		}
	}
	return w.check()
}

func (w *world) leaf(name string) *trust.Leaf {
	for _, d := range w.domains().Domains {
		if l := leafOf(d, name); l != nil {
			return l
		}
	}
	return nil
}
