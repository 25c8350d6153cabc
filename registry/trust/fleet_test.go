// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
)

// fleet is a world whose members are processes: what each trusts and presents changes only when it loads, and what the
// model knows of it only when it is observed.
type fleet struct {
	*world
	processes []*process
	// orphaned says that a signer Secret was deleted, so that leaves may chain to a CA that has no slot any more.
	orphaned bool
	// dead says that no CA could sign and no leaf was valid: nobody can be cut off, and handshakes prove nothing until
	// the domain comes to rest.
	dead     bool
	verified map[string]validity
}

// process is one running member.
type process struct {
	party  *Party
	member *Member
	trust  []*pki.Certificate
	leaves map[string]*pki.Certificate
	// down says that it does not run, because it cannot without its leaf.
	down bool
	// silent says that it lists no authorities, because it asks for no certificate.
	silent bool
	// behind is since when something is published that the process has not loaded, zero if nothing is.
	behind time.Time
}

// topology of a fleet: the evidence kind of each server and client.
type topology struct {
	servers, clients []EvidenceKind
	// peers says that servers verify each other, as members of etcd do.
	peers bool
	// beside says that everybody verifies by the anchors beside its own leaf.
	beside bool
}

const fleetGrace = time.Hour

// newFleet is a stable domain in which every process has loaded everything and was observed.
func newFleet(t rapid.TB, top topology) *fleet {
	policy := Policy{RenewAtPercent: 80, Profile: pki.Profile{
		Key: pki.Ed25519, Validity: 365 * 24 * time.Hour, Backdate: 5 * time.Minute,
	}}
	f := &fleet{verified: map[string]validity{}, world: &world{
		t: t, now: start, keys: map[pki.Fingerprint]*pki.Pair{}, beside: top.beside, d: Domain{
			Namespace: "demo", Name: "service", StageDeadline: time.Hour,
			Signer: Signer{Object: Object{Name: "signer"}, Policy: policy},
			Bundle: Bundle{Object: Object{Name: "bundle"}},
		},
	}}
	policy.Profile.Validity = 90 * 24 * time.Hour
	add := func(role string, kinds []EvidenceKind, usage pki.Usage) (names []string) {
		for i, kind := range kinds {
			name := fmt.Sprintf("%s-%d", role, i)
			p := policy
			p.Profile.CommonName, p.Profile.Usages = name, []pki.Usage{usage}
			f.d.Leaves = append(f.d.Leaves, Leaf{Object: Object{Name: name}, Policy: p})
			f.d.Parties = append(f.d.Parties, Party{
				Name: name, Kind: kind, Grace: fleetGrace, Members: []Member{fleetMember(kind, name)},
			})
			names = append(names, name)
		}
		return names
	}
	clients := add("client", top.clients, pki.ClientAuth)
	servers := add("server", top.servers, pki.ServerAuth)
	for i := range f.d.Parties {
		p := &f.d.Parties[i]
		if slices.Contains(clients, p.Name) || top.peers {
			p.Verifies = append(p.Verifies, servers...)
		}
		if slices.Contains(servers, p.Name) {
			p.Verifies = append(p.Verifies, clients...)
		}
	}
	f.settle()
	for i := range f.d.Parties {
		p := &f.d.Parties[i]
		f.processes = append(f.processes, &process{party: p, member: &p.Members[0], leaves: map[string]*pki.Certificate{}})
	}
	f.loadAll()
	f.done = nil
	return f
}

func fleetMember(kind EvidenceKind, name string) Member {
	if kind == TLSProbe {
		return probedMember(name, name)
	}
	return Member{Name: name, Holds: []string{name}}
}

func (f *fleet) names() []string {
	names := make([]string, 0, len(f.processes))
	for _, p := range f.processes {
		names = append(names, p.member.Name)
	}
	return names
}

func (f *fleet) process(name string) *process {
	for _, p := range f.processes {
		if p.member.Name == name {
			return p
		}
	}
	f.t.Fatalf("no process %q", name)
	return nil
}

// load lets a process read its files. What does not exist leaves it with what it has.
func (f *fleet) load(p *process) {
	lacks := func(name string) bool { return f.published(name) == nil }
	if p.down && slices.ContainsFunc(p.member.Holds, lacks) {
		return
	}
	p.down = false
	if anchors := f.readable(p); len(anchors) > 0 {
		p.trust = slices.Clone(anchors)
	}
	for _, name := range p.member.Holds {
		if c := f.published(name); c != nil {
			p.leaves[name] = c
		}
	}
	p.behind = time.Time{}
}

// readable are the anchors that a process finds.
func (f *fleet) readable(p *process) []*pki.Certificate {
	if !f.beside {
		return f.d.Bundle.Anchors
	}
	for i := range f.d.Leaves {
		if l := &f.d.Leaves[i]; slices.Contains(p.member.Holds, l.Name) {
			return l.Anchors
		}
	}
	return nil
}

// published is what the Secret of a leaf of the domain holds, nil if it holds nothing or is none of the domain.
func (f *fleet) published(leaf string) *pki.Certificate {
	i := slices.IndexFunc(f.d.Leaves, func(l Leaf) bool { return l.Name == leaf })
	if i < 0 {
		return nil
	}
	return f.d.Leaves[i].Certificate
}

// restart is a load after which older observations prove nothing.
func (f *fleet) restart(p *process) {
	f.load(p)
	p.member.RestartedAt = f.now
}

// observe tells the model what a process has loaded; nothing is observed of kinds that go without.
func (f *fleet) observe(p *process) {
	if p.down || (p.party.Kind != TLSProbe && p.party.Kind != Acknowledgement) {
		return
	}
	defer f.remember(p)
	o := f.observation(p.party.Kind, p.member)
	for _, ca := range p.trust {
		if p.silent {
			break
		}
		if p.party.Kind == TLSProbe {
			o.TrustedSubjects = append(o.TrustedSubjects, ca.SubjectHash)
		} else {
			o.Trusts = append(o.Trusts, ca.Fingerprint)
		}
	}
	if p.party.Kind == TLSProbe {
		p.member.Observations = p.seenAt(o)
		return
	}
	for _, name := range p.member.Holds {
		if c := p.leaves[name]; c != nil {
			o.Presents = append(o.Presents, c.Fingerprint)
		}
	}
	p.member.Observations = []Observation{o}
}

// remember keeps what was observed of a member where the roster finds it, whether the configuration names it or not.
func (f *fleet) remember(p *process) {
	for i := range f.d.Parties {
		if f.d.Parties[i].Name == p.party.Name {
			f.d.Parties[i].Members[0].Observations = p.member.Observations
		}
	}
	if f.d.Roster == nil {
		return
	}
	for i := range f.d.Roster.Members {
		if m := &f.d.Roster.Members[i]; m.Party == p.party.Name {
			m.Observations = p.member.Observations
		}
	}
}

// seenAt is what a probe of each address sees: one leaf.
func (p *process) seenAt(o Observation) []Observation {
	var out []Observation
	for _, probe := range p.member.Probes {
		seen := o
		seen.Instance, seen.Address = probe.Address, probe.Address
		if c := p.leaves[probe.Presents]; c != nil {
			seen.Presents = []pki.Fingerprint{c.Fingerprint}
		}
		out = append(out, seen)
	}
	return out
}

func (f *fleet) loadAll() {
	for _, p := range f.processes {
		f.load(p)
		f.observe(p)
	}
}

// pass lets time pass. Processes of the kind gracePeriod load within their grace: that is what its operator promises.
func (f *fleet) pass(d time.Duration) {
	f.now = f.now.Add(d)
	for _, p := range f.processes {
		if p.party.Kind == GracePeriod && !p.behind.IsZero() && !p.behind.Add(p.party.Grace).After(f.now) {
			f.load(p)
		}
	}
}

// act performs one action and returns what Judge says of it.
func (f *fleet) act(action *Action) []Violation {
	before, at := f.clone(), f.now
	f.perform(action)
	proof := Judge(before, f.clone(), at)
	f.written(action.Object, at)
	f.pass(0)
	return proof
}

// written notes who has something to load. Processes of the kind renewed load bundle and leaf with each new leaf, those of
// which nothing is asked load everything at once.
func (f *fleet) written(object string, at time.Time) {
	for _, p := range f.processes {
		holds := slices.Contains(p.member.Holds, object)
		if !holds && object != f.d.Bundle.Name {
			continue
		}
		if p.behind.IsZero() {
			p.behind = at
		}
		if p.party.Kind == Renewed && holds || p.party.Kind == None {
			f.load(p)
		}
	}
}

// edit applies a person's edit if Judge lets it through.
func (f *fleet) edit(change func(*Domain)) []Violation {
	after := f.clone()
	change(after)
	found := Judge(f.clone(), after, f.now)
	if len(found) == 0 {
		f.d.Signer, f.d.Bundle, f.d.Leaves = after.Signer, after.Bundle, after.Leaves
	}
	return found
}

func deleteSigner(d *Domain) {
	d.Signer = Signer{Object: Object{Name: d.Signer.Name}, Policy: d.Signer.Policy}
}

func deleteBundle(d *Domain) { d.Bundle = Bundle{Object: Object{Name: d.Bundle.Name}} }

func deleteLeaf(name string) func(*Domain) {
	return func(d *Domain) {
		for i := range d.Leaves {
			if l := &d.Leaves[i]; l.Name == name {
				*l = Leaf{Object: Object{Name: name}, Policy: l.Policy}
			}
		}
	}
}
