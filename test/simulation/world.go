// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// Protocol is the assessment that leaders use: trust.Assess, or a broken variant of it.
type Protocol func(d *trust.Domain, now time.Time) *trust.Assessment

type options struct {
	dice     dice
	protocol Protocol
	counts   *counts
	// log receives the story line by line, nil to discard it.
	log func(format string, args ...any)
	// unguarded says that edits of people bypass the guard, so that the invariants are checked only at rest.
	unguarded bool
	// judging says that the guard must admit a write of a leader if nothing has changed since the leader read.
	judging bool
	// truthful says that what is recorded of a pod that reads its files only at start must be what it has read.
	truthful bool
	// anyReporter and cachedPods are set only in mutants. With anyReporter the API does not check which pod a token
	// is bound to. With cachedPods a leader uses its pod informers where it must read live.
	// With unwaived the guard of configurations does not know of waivers. With keepsFuture the guard refuses to delete
	// a signer while a clock is in doubt.
	anyReporter, cachedPods, unwaived, keepsFuture bool
	careless
}

// world is the whole simulated system.
type world struct {
	options
	topology  topology
	clock     worldClock
	api       *server
	verifier  *verifier
	processes []*process
	leaders   []*leader
	// histories are the domains' histories by name.
	histories map[string]*history
	// faultless says that no fault is injected, and no event happens in the middle of another one.
	faultless bool
	// nested says that an event happens in the middle of another one.
	nested bool
	broken error
	// known is the inventory of the state knownOf.
	knownOf *inventory.Sources
	known   *inventory.Namespace
	// joined counts machines, registered counts Node objects.
	joined, registered int
	// configuration is the one that is true of the processes, backup a former state of all objects.
	configuration *configv1alpha1.RotationConfiguration
	backup        *backup
	// ahead is how far all clocks are ahead of the true time.
	ahead time.Duration
	// spoilt are the names of the Secrets that became unreadable past the guard.
	spoilt map[string]bool
	// recovery is what was made offline and is not applied yet, or nil.
	recovery *recovery
	// manifests are those of the last recovery that was applied: people keep them.
	manifests *recovery
	// abandoned are the leaves whose holders are all proven to be gone.
	abandoned map[pki.Fingerprint]bool
	// lost are the issuers of all leaves that existed when everything but the records was lost.
	lost map[string]bool
	// early are leaves, put past the guard, that are not valid yet.
	early map[pki.Fingerprint]bool
	// returned says that all clocks were ahead, and are right again.
	returned bool
	// left are the clients that people ended and took out of the configuration. A restored roster may have them.
	left map[string]bool
	// wrong says that the configuration is not true of the processes. unregistered are machines without a Node
	// object. mistaken says that the configuration names a member that does not exist.
	wrong        bool
	mistaken     bool
	unregistered []string
	// workloads make the pods, podsMade counts them. mistyped says that a selector was wrong before a rotation
	// began, forbidden that pods may not be listed.
	workloads           []*workload
	podsMade            int
	mistyped, forbidden bool
	// published are the former and present bundles and leaves, the latest last. strays are reports of processes
	// that ended.
	published []*publication
	strays    []stray
	// contents are all contents that objects ever had, as Kind/name=hash.
	contents map[string]bool
	// looker is the leader that refreshes the evidence at the moment, target the object with caBundles. Either may
	// be nil.
	looker *leader
	target *target
	// flight is the latest answer of inFlight.
	flight flight
	// issuer issues the leaves of worlds that have one.
	issuer *certManager
}

// history is what was observed of a domain.
type history struct {
	stage trust.Stage
	// stable is the active CA when the domain was last Stable.
	stable pki.Fingerprint
	// dead says that no CA could sign and no leaf was valid: no handshake is promised until the domain is at rest.
	// ahead says that it was so only by clocks that were ahead by decades, and is promised again when they are right.
	dead, ahead bool
	// aborted is the last CA that an abort has dropped before it signed, or nil.
	aborted *pki.Certificate
	// removed are the members that have left the configuration at rest, each with whether the guard said that it still
	// counts.
	removed map[string]bool
	// noted are the conditions that held after the last step, open the requests that were not answered.
	noted map[happening]bool
	open  []string
}

// violation is a broken promise.
type violation struct {
	promise string
	err     error
}

func (v *violation) Error() string { return v.promise + ": " + v.err.Error() }

func (v *violation) Unwrap() error { return v.err }

func violated(promise, format string, args ...any) error {
	return &violation{promise: promise, err: fmt.Errorf(format, args...)}
}

var birth = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newWorld returns a world in which every domain is Stable and every process runs with everything loaded.
func newWorld(t topology, o options) (*world, error) {
	w := &world{options: o, topology: t, api: newServer(), verifier: newVerifier(), histories: map[string]*history{}, issuer: newCertManager()}
	w.clock.set(birth)
	w.counts.worlds++
	w.say("%s", t)
	w.configuration = t.configuration()
	w.api.putConfiguration(w.configuration, birth)
	w.lists()
	w.deploy()
	if t.hooked {
		var err error
		if w.target, err = newTarget(birth); err != nil {
			return nil, err
		}
	}
	if t.mistyped {
		w.mistypes()
	}
	if t.onNodes() {
		w.join()
		w.join()
	}
	w.settleProcesses()
	w.faultless = true
	l, err := newLeader(w, "the leader", 0)
	if err != nil {
		return nil, err
	}
	w.leaders = []*leader{l}
	if n := w.domains(); n == nil || len(n.Domains) == 0 {
		return nil, fmt.Errorf("no domain in the configuration of %s: %v", t, n)
	}
	if err := w.rest(); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	w.faultless = false
	if t.retyped {
		w.mistypes()
	}
	if !in(w.dice, 4, "nothing is rotated at first") {
		w.rotates()
	}
	return w, nil
}

// close stops the goroutines of the leaders.
func (w *world) close() {
	for _, l := range w.leaders {
		l.stop()
	}
	w.counts.verifications += w.verifier.asked
	w.verifier.asked = 0
}

func (w *world) say(format string, args ...any) {
	if w.log != nil {
		w.log("%s  %s", w.clock.now().Format("01-02 15:04:05"), fmt.Sprintf(format, args...))
	}
}

// tick lets a second pass, so that no two things happen at the same time.
func (w *world) tick() { w.clock.set(w.clock.now().Add(time.Second)) }

// domains returns the present domains, as far as informers show them.
func (w *world) domains() *inventory.Namespace {
	if latest := w.api.latest(); latest != w.knownOf {
		w.knownOf, w.known = latest, inventory.Build(shown(latest))
	}
	return w.known
}

func (w *world) domain(name string) *trust.Domain { return w.domains().Domain(name) }

func (w *world) processesOf(member string) []*process {
	var out []*process
	for _, p := range w.processes {
		if p.member == member {
			out = append(out, p)
		}
	}
	return out
}

// process returns the first process of a member, nil if there is none.
func (w *world) process(member string) *process {
	if all := w.processesOf(member); len(all) > 0 {
		return all[0]
	}
	return nil
}

// settleProcesses makes one process for each member without one. A process outlives its name in the configuration:
// it ends with its machine.
func (w *world) settleProcesses() {
	for _, d := range w.domains().Domains {
		for i := range d.Parties {
			p := &d.Parties[i]
			if p.OfPods {
				continue
			}
			for k := range p.Members {
				m := &p.Members[k]
				if p.Kind == trust.CABundle && w.target != nil && len(w.processesOf(m.Name)) == 0 {
					w.settleHooks(m.Name)
				}
				if len(w.processesOf(m.Name)) == 0 && m.Name != nobody {
					fresh := newProcess(m.Name, 0)
					fresh.off = time.Duration((len(w.processes)+w.joined)%3-1) * maxOff
					w.processes = append(w.processes, fresh)
				}
				for _, process := range w.processesOf(m.Name) {
					process.takes(membership{domain: d.Name, party: p.Name, member: m.Name}, p, m)
					w.promises(process, p)
				}
			}
		}
	}
}

// promises records the delay within which a process loads.
func (w *world) promises(p *process, party *trust.Party) {
	if (party.Kind != trust.GracePeriod && party.Kind != trust.Renewed) || party.Grace <= promiseKept {
		return
	}
	if within := party.Grace - promiseKept; p.within == 0 || within < p.within {
		p.within = within
	}
}

// maxOff is how far a clock is off. Twice that is less than the backdate of certificates.
const maxOff = 2 * time.Minute

// breaks keeps the first violation until takeBroken.
func (w *world) breaks(err error) {
	if w.broken == nil {
		w.broken = err
	}
}

func (w *world) takeBroken() error {
	err := w.broken
	w.broken = nil
	return err
}

func (w *world) injected(f apifake.Fault) {
	w.counts.faults[string(f)]++
	w.say("  (%s)", f)
}
