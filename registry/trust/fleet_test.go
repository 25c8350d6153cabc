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

// fleet is a world whose members are processes. What a process trusts and presents changes only when it loads. The
// model learns of it only when it observes the process.
type fleet struct {
	*world
	processes []*process
	// orphaned is set if a signer Secret was deleted: leaves may chain to a CA that has no slot any more.
	orphaned bool
	// dead is set if no CA could sign and no leaf was valid. Then no member can be cut off, and handshakes prove
	// nothing until the domain is at rest again.
	dead     bool
	verified map[string]validity
}

type process struct {
	party  *Party
	member *Member
	trust  []*pki.Certificate
	leaves map[string]*pki.Certificate
	// down is set if the process does not run because its leaf is missing.
	down bool
	// silent is set if the process lists no authorities, because it requests no certificate.
	silent bool
	// behind is since when a published object is not loaded, zero if all are.
	behind time.Time
}

// topology has the evidence kind of each server and client of a fleet.
type topology struct {
	servers, clients []EvidenceKind
	// peers is set if servers verify each other, like etcd members.
	peers bool
	// beside is set if members verify by the anchors in the Secret of their own leaf.
	beside bool
}

const fleetGrace = time.Hour

// newFleet returns a stable domain in which every process has loaded everything and was observed.
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

// load makes a process read its files. It keeps what it has if an object does not exist.
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

// readable returns the anchors that a process finds.
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

// published returns the certificate in the Secret of a leaf, nil if there is none or the domain lacks the leaf.
func (f *fleet) published(leaf string) *pki.Certificate {
	i := slices.IndexFunc(f.d.Leaves, func(l Leaf) bool { return l.Name == leaf })
	if i < 0 {
		return nil
	}
	return f.d.Leaves[i].Certificate
}

// restart is a load that makes older observations void.
func (f *fleet) restart(p *process) {
	f.load(p)
	p.member.RestartedAt = f.now
}

// observe shows the model what a process has loaded. Only probed and acknowledging processes are observed.
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

// remember stores the observations of a member in the configuration and the roster.
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

// seenAt returns what a probe of each address sees: one leaf.
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

// pass lets time pass. Processes of the kind gracePeriod load within their grace, as their operator promises.
func (f *fleet) pass(d time.Duration) {
	f.now = f.now.Add(d)
	for _, p := range f.processes {
		if p.party.Kind == GracePeriod && !p.behind.IsZero() && !p.behind.Add(p.party.Grace).After(f.now) {
			f.load(p)
		}
	}
}

// act performs one action and returns the verdict of Judge.
func (f *fleet) act(action *Action) []Violation {
	before, at := f.clone(), f.now
	f.perform(action)
	proof := Judge(before, f.clone(), at)
	f.written(action.Object, at)
	f.pass(0)
	return proof
}

// written notes which processes have something to load. Processes of the kind renewed load bundle and leaf with
// each new leaf. Those of the kind none load everything at once.
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

// edit applies an edit if Judge admits it.
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
