// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// event is something that can happen. do reports whether it could.
type event struct {
	name   string
	weight int
	do     func(*world) (bool, error)
}

// happens lets an event happen if it can. Before a recovery is applied, only beforeApplied happen.
func (e *event) happens(w *world) (bool, error) {
	if w.recovery != nil && !slices.Contains(beforeApplied(), e.name) {
		return false, nil
	}
	return e.do(w)
}

// events returns all events, and those that may also happen in the middle of a leader's work.
func (t topology) events() (all, between []event) {
	between = []event{
		{"load", 4, plain((*world).loads)},
		{"load the trust only", 1, plain((*world).loadsTrust)},
		{"load the leaves only", 1, plain((*world).loadsLeaves)},
		{"observe", 3, plain((*world).observes)},
		{"load and observe", 5, plain((*world).loadsAndIsObserved)},
		{"restart", 1, plain((*world).restarts)},
		{"report", 1, plain((*world).reports)},
		{"deliver", 1, plain((*world).delivers)},
		{"stop", 1, plain((*world).stops)},
		{"start", 2, plain((*world).starts)},
		{"reachable", 1, plain((*world).turns)},
		{"second process", 2, plain((*world).doubles)},
		{"forged report", 1, plain((*world).forges)},
		{"replayed report", 1, plain((*world).replays)},
		{"configuration", 3, plain((*world).editsRoster)},
		{"people", 4, plain((*world).people)},
		{"cache", 3, plain((*world).catchesUp)},
		{"the other leader", 1, (*world).otherLeads},
	}
	all = append([]event{
		{"leader", 12, (*world).leads},
		{"crash", 1, (*world).crashes},
		{"second leader", 1, (*world).secondLeader},
		{"rotate", 1, plain((*world).rotates)},
		{"back from a backup", 1, plain((*world).returns)},
		{"time", 3, plain((*world).passes)},
		{"loss of a bundle", 1, plain((*world).losesBundle)},
		{"spoilt leaf", 1, plain((*world).spoilsLeaf)},
		{"all Secrets are deleted", 1, plain(func(w *world) bool { return in(w.dice, 3, "all Secrets") && w.deletesAllSecrets() })},
		{"early leaf", 1, plain((*world).putsEarlyLeaf)},
		{"unfit next", 1, plain((*world).bringsUnfitNext)},
		{"another key identifier", 1, plain((*world).changesIdentifier)},
		{"loss of everything", 1, plain((*world).losesAll)},
		{"recovery", 6, plain((*world).recovers)},
		{"the recovery is applied", 1, plain((*world).appliesRecovery)},
		{"waiver", 1, plain((*world).waives)},
		{"node joins", 1, plain((*world).nodeJoins)},
		{"node leaves", 1, plain((*world).nodeLeaves)},
		{"label of a node", 1, plain((*world).nodeLosesLabel)},
		{"object of a node", 2, plain((*world).nodeLosesObject)},
		{"name of a party", 1, plain((*world).renamesParty)},
		{"client goes", 1, (*world).clientGoes},
		{"refused writes", 1, plain((*world).refusesWrites)},
		{"clocks", 1, plain((*world).clocksJump)},
		{"policy", 1, plain((*world).shortensPolicy)},
		{"backup of everything", 1, plain((*world).backsUp)},
		{"restore of everything", 1, plain((*world).restoresAll)},
	}, between...)
	if t.startsPods() {
		all, between = append(all, startedEvents()...), append(between, startedEvents()...)
	}
	if t.hooked {
		all, between = append(all, targetEvents()...), append(between, targetEvents()...)
	}
	if t.issued {
		all, between = append(all, issuerEvents(t.issuedCA)...), append(between, issuerEvents(t.issuedCA)...)
	}
	if t.pods {
		ofPods, ofPodsBetween := podEvents()
		all, between = append(all, ofPods...), append(between, ofPodsBetween...)
		all = slices.DeleteFunc(all, func(e event) bool { return slices.Contains(notOfPods(), e.name) })
	}
	return all, between
}

func plain(do func(*world) bool) func(*world) (bool, error) {
	return func(w *world) (bool, error) { return do(w), nil }
}

func weighted(events []event) []event {
	var out []event
	for _, e := range events {
		for range e.weight {
			out = append(out, e)
		}
	}
	return out
}

// step lets one event happen, checks the invariants, and reports whether the event could happen. If not, no time
// passes: rapid leaves such an event out when it replays a story.
func (w *world) step(e *event) (bool, error) {
	before := w.clock.now()
	w.tick()
	done, err := e.happens(w)
	if err != nil {
		return done, err
	}
	if !done {
		w.clock.set(before)
		return false, nil
	}
	w.counts.steps++
	return true, w.afterStep()
}

func (w *world) afterStep() error {
	if err := w.settle(); err != nil {
		return err
	}
	return w.progress()
}

// settle does what follows a step without an event, and checks the result.
func (w *world) settle() error {
	w.settleConfiguration()
	w.settleLabels()
	w.settleProcesses()
	w.keepReporting()
	if err := w.replaceDead(); err != nil {
		return err
	}
	if err := w.takeBroken(); err != nil {
		return err
	}
	return w.check()
}

// meanwhile lets an event happen in the middle of a leader's work.
func (w *world) meanwhile(l *leader) {
	if w.faultless || w.nested || !in(w.dice, 6, "something in between") {
		return
	}
	w.nested = true
	defer func() { w.nested = false }()
	_, between := w.topology.events()
	list := weighted(between)
	e := &list[w.dice.roll(len(list), "what comes in between")]
	w.tick()
	done, err := e.happens(w)
	if !done && err == nil {
		return
	}
	w.say("  (in the middle of what %s does)", l.name)
	w.counts.faults["in between"]++
	l.undisturbed = false
	w.settleConfiguration()
	w.settleLabels()
	w.settleProcesses()
	w.breaks(err)
	w.breaks(w.check())
}

func (w *world) anyProcess() *process {
	if len(w.processes) == 0 {
		return nil
	}
	return w.processes[w.dice.roll(len(w.processes), "process")]
}

func (w *world) running() *process {
	if p := w.anyProcess(); p != nil && p.up {
		return p
	}
	return nil
}

func (w *world) loads() bool       { return w.loadPart(everything, "loads") }
func (w *world) loadsTrust() bool  { return w.loadPart(onlyTrust, "loads its anchors") }
func (w *world) loadsLeaves() bool { return w.loadPart(onlyLeaves, "loads its leaves") }

func (w *world) loadPart(what parts, text string) bool {
	p := w.running()
	if p == nil {
		return false
	}
	w.say("%s %s", p.name, text)
	if p.pod != nil && in(w.dice, 2, "the kubelet is late") {
		w.loadMounted(p, what)
		return true
	}
	w.load(p, what)
	return true
}

func (w *world) observes() bool {
	p := w.anyProcess()
	if p == nil {
		return false
	}
	w.say("%s is observed", p.name)
	w.observe(p)
	return true
}

func (w *world) loadsAndIsObserved() bool {
	p := w.running()
	if p == nil {
		return false
	}
	w.say("%s loads and is observed", p.name)
	w.load(p, everything)
	w.observe(p)
	return true
}

func (w *world) restarts() bool {
	p := w.running()
	if p == nil {
		return false
	}
	if w.reporting(p) && !p.reachable {
		return false
	}
	w.say("%s restarts", p.name)
	if p.pod != nil {
		return w.startPod(p)
	}
	w.load(p, everything)
	p.startedAt, p.machine = w.clock.now(), cmp.Or(w.uidOf(p.member), p.machine)
	w.reportsAtStart(p)
	return true
}

// reports makes reports that arrive later, or never.
func (w *world) reports() bool {
	p := w.running()
	if p == nil || !p.reachable {
		return false
	}
	made := false
	for _, m := range p.memberships() {
		if w.kindOf(m) == trust.Acknowledgement {
			p.pending[m] = w.reportOf(p, m)
			made = true
		}
	}
	if made {
		w.say("%s reports, and the report takes its time", p.name)
	}
	return made
}

func (w *world) delivers() bool {
	p := w.anyProcess()
	if p == nil || len(p.pending) == 0 {
		return false
	}
	w.say("the report of %s arrives", p.name)
	w.counts.event(lateReport)
	for _, m := range p.memberships() {
		if o := p.pending[m]; o != nil && w.acknowledge(m, o, w.accountOf(p)) {
			p.replay[m] = o
		}
	}
	clear(p.pending)
	return true
}

func (w *world) stops() bool {
	p := w.running()
	if p == nil || p.hook != nil {
		return false
	}
	w.say("%s dies", p.name)
	w.counts.faults["process died"]++
	w.end(p)
	return true
}

// end ends a process. A second process of a member does not start again.
func (w *world) end(p *process) {
	p.up = false
	if p.pod != nil {
		w.showPod(p)
	}
	if p.number > 0 {
		w.processes = slices.DeleteFunc(slices.Clone(w.processes), func(other *process) bool { return other == p })
	}
}

func (w *world) starts() bool {
	p := w.anyProcess()
	if p == nil || p.up || !w.start(p) {
		return false
	}
	w.say("%s starts", p.name)
	return true
}

func (w *world) turns() bool {
	p := w.anyProcess()
	if p == nil {
		return false
	}
	p.reachable = !p.reachable
	if !p.reachable {
		w.counts.faults["unreachable"]++
	}
	w.say("%s is reachable for probes and reports: %t", p.name, p.reachable)
	return true
}

func (w *world) returns() bool {
	p := w.running()
	if p == nil || !w.comesBack(p) {
		return false
	}
	w.say("%s restarts from a backup of its disk", p.name)
	w.counts.faults["restart from a backup"]++
	return true
}

func (w *world) rotates() bool {
	return w.apply(w.asksToRotate(one(w.dice, "domain", w.domains().Domains)))
}

func (w *world) passes() bool {
	w.pass(one(w.dice, "duration", []time.Duration{
		time.Minute, time.Minute, 20 * time.Minute, time.Hour, time.Hour, 2 * time.Hour, 24 * time.Hour, 30 * 24 * time.Hour,
	}))
	return true
}

// pass lets time pass, in which processes load and report as promised.
func (w *world) pass(d time.Duration) {
	w.passesWatched(d)
	w.say("%s pass", d)
	if d > cacheLag {
		for _, l := range w.leaders {
			l.view.catchUp()
		}
	}
	for _, p := range w.processes {
		if p.up && p.within > 0 && !p.behind.IsZero() && !p.behind.Add(p.within).After(w.clock.now()) {
			w.load(p, everything)
		}
	}
	w.watches()
	w.keepReporting()
}

func (w *world) nodeJoins() bool {
	if !w.topology.onNodes() || len(w.api.nodes) >= 3 {
		return false
	}
	w.say("%s joins", w.join())
	return true
}

// join adds a node. Its processes start when they find their files.
func (w *world) join() string {
	w.joined++
	name := fmt.Sprintf("node-%d", w.joined)
	w.register(name)
	return name
}

// register creates the Node object of a machine.
func (w *world) register(name string) {
	w.registered++
	w.api.putNode(name, &inventory.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, ResourceVersion: "1", UID: types.UID(fmt.Sprintf("machine-%d", w.registered)), Labels: map[string]string{nodeRole: "server"},
		},
		Addresses: []string{"10.0.1." + strings.TrimPrefix(name, "node-")},
	})
}

func (w *world) nodeLeaves() bool {
	if !w.topology.onNodes() || len(w.api.nodes) < 2 {
		return false
	}
	p := w.anyProcess()
	if p == nil || w.api.nodes[p.member] == nil {
		return false
	}
	w.removeNode(p.member)
	return true
}

// removeNode removes a machine and everything that runs on it.
func (w *world) removeNode(name string) {
	w.say("%s leaves", name)
	w.api.putNode(name, nil)
	w.processes = slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return p.member == name })
}
