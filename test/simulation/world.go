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

// Protocol is what leaders ask: trust.Assess, or a broken one.
type Protocol func(d *trust.Domain, now time.Time) *trust.Assessment

// options of a world.
type options struct {
	dice     dice
	protocol Protocol
	counts   *counts
	// log takes the story line by line; nil for nobody listens.
	log func(format string, args ...any)
	// unguarded says that edits of people are not asked of the guard, so that nothing can be promised before the end.
	unguarded bool
	// judging says that the guard must let every write of a leader through that nothing came between.
	judging bool
	// truthful says that what is recorded of a pod that reads its files only when it starts must be what it has read.
	truthful bool
	// Broken in mutants: anyReporter says that the API does not ask which pod a token is bound to, cachedPods that a leader
	// believes its informers of pods where it has to read live.
	anyReporter, cachedPods bool
	careless
}

// world is everything.
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
	// faultless says that nothing goes wrong any more, and nothing comes in between.
	faultless bool
	// nested says that an event is in the middle of another one.
	nested bool
	broken error
	// known is what is built of the latest state.
	knownOf *inventory.Sources
	known   *inventory.Namespace
	// joined and registered count machines, and their objects.
	joined, registered int
	// configuration is the right one, and backup a former state of everything.
	configuration *configv1alpha1.RotationConfiguration
	backup        *backup
	// ahead is how far all clocks are ahead of the true time.
	ahead time.Duration
	// spoilt are the names of the Secrets that somebody made unreadable.
	spoilt map[string]bool
	// recovery is what was made offline and is not applied yet, nil if there is nothing of that kind.
	recovery *recovery
	// manifests are of the last recovery that was applied: people keep them.
	manifests *recovery
	// abandoned are the leaves whose only holders were proven to be gone.
	abandoned map[pki.Fingerprint]bool
	// lost are the issuers of all leaves that were there when everything was lost but the records.
	lost map[string]bool
	// early are leaves that got past the guard before their time.
	early map[pki.Fingerprint]bool
	// returned says that they were ahead and are not any more.
	returned bool
	// wrong says that the configuration is not true of the processes, and unregistered are machines without an object.
	wrong        bool
	unregistered []string
	// workloads make pods, podsMade of them so far. mistyped says that a selector was wrong before a rotation began, and
	// forbidden that pods may not be listed.
	workloads           []*workload
	podsMade            int
	mistyped, forbidden bool
	// published is what bundles and leaves were, the latest last; strays are reports of processes that are gone.
	published []*publication
	strays    []stray
	// contents are what objects have ever been, as Kind/name=hash.
	contents map[string]bool
	// looker is the leader that has everybody looked at, nil if none does. target is the object with a caBundle, nil if there
	// is none.
	looker *leader
	target *target
	// flight is what was asked last.
	flight flight
}

// history is what was seen of a domain.
type history struct {
	stage trust.Stage
	// stable is the active CA when the domain was Stable last.
	stable pki.Fingerprint
	// dead says that no CA could sign and no leaf was valid: nobody can be cut off before the domain is at rest again.
	dead bool
	// noted is what was so at the last look, and open are the requests that were not answered.
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

// newWorld is one in which every domain is Stable, and every process runs and has loaded everything.
func newWorld(t topology, o options) (*world, error) {
	w := &world{options: o, topology: t, api: newServer(), verifier: newVerifier(), histories: map[string]*history{}}
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

// close ends what runs in the background.
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

// domains are what is there now.
func (w *world) domains() *inventory.Namespace {
	if latest := w.api.latest(); latest != w.knownOf {
		w.knownOf, w.known = latest, inventory.Build(shown(latest))
	}
	return w.known
}

func (w *world) domain(name string) *trust.Domain { return w.domains().Domain(name) }

// processesOf are all processes of a member.
func (w *world) processesOf(member string) []*process {
	var out []*process
	for _, p := range w.processes {
		if p.member == member {
			out = append(out, p)
		}
	}
	return out
}

// process is the first process of a member, nil if there is none.
func (w *world) process(member string) *process {
	if all := w.processesOf(member); len(all) > 0 {
		return all[0]
	}
	return nil
}

// settleProcesses makes one process for each member that has none. A process lives on when the configuration does not name
// its member any more, until its machine is gone.
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
				if len(w.processesOf(m.Name)) == 0 {
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

// promises notes within which time a process loads.
func (w *world) promises(p *process, party *trust.Party) {
	if (party.Kind != trust.GracePeriod && party.Kind != trust.Renewed) || party.Grace <= promiseKept {
		return
	}
	if within := party.Grace - promiseKept; p.within == 0 || within < p.within {
		p.within = within
	}
}

// maxOff is how far clocks are off. Two of them are within the backdate of certificates.
const maxOff = 2 * time.Minute

// breaks keeps the first violation until somebody takes it.
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
