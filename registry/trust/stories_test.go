// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// TestRosterStories: a member still counts when the configuration no longer names it.
func TestRosterStories(t *testing.T) {
	begun := func(f *fleet) error {
		f.request("test")
		return f.settled()
	}
	laggard := func(forget func(f *fleet)) func(f *fleet) error {
		return func(f *fleet) error {
			if err := begun(f); err != nil {
				return err
			}
			forget(f)
			if err := f.followedBy("client-0"); err != nil {
				return err
			}
			return f.holds(ReasonAnchorNotLoaded)
		}
	}
	tellAll(t, []story{
		{name: "the laggard is removed from the members", former: forgetsTheRoster, tell: laggard(func(f *fleet) { f.remove("client-0") })},
		{name: "an acknowledgement becomes a grace period of a second", former: forgetsTheRoster, tell: laggard(func(f *fleet) {
			p := f.party("client-0")
			p.Kind, p.Grace = GracePeriod, time.Second
		})},
		{name: "a node loses its label in flight", former: forgetsTheRoster, tell: func(f *fleet) error {
			f.onNode("client-0", "uid-0")
			return laggard(func(f *fleet) { f.party("client-0").Members = nil })(f)
		}},
		{name: "a node loses its label before the rotation", former: forgetsTheRoster, tell: func(f *fleet) error {
			f.onNode("client-0", "uid-0")
			if err := f.settled(); err != nil {
				return err
			}
			f.party("client-0").Members = nil
			if err := begun(f); err != nil {
				return err
			}
			if err := f.followedBy("client-0"); err != nil {
				return err
			}
			return f.holds(ReasonAnchorNotLoaded)
		}},
		{name: "it stops verifying", former: forgetsTheRoster, tell: laggard(func(f *fleet) {
			p := f.party("client-0")
			p.Verifies, p.VerifiesNothing = nil, true
		})},
		{name: "all parties are removed", former: nobodyIsEverybody, tell: laggard(func(f *fleet) {
			f.d.Parties = nil
		})},
		{name: "a domain without parties", former: nobodyIsEverybody, tell: func(f *fleet) error {
			f.d.Parties, f.d.Roster = nil, nil
			if err := begun(f); err != nil {
				return err
			}
			if err := f.followedBy(f.names()...); err != nil {
				return err
			}
			return f.holds(ReasonNoVerifier)
		}},
		{name: "a leaf that nobody presents", former: nobodyIsEverybody, tell: func(f *fleet) error {
			f.party("client-0").Members[0].Holds = nil
			if err := begun(f); err != nil {
				return err
			}
			if err := f.followedBy(); err != nil {
				return err
			}
			return f.holds(ReasonNoHolder)
		}},
		{name: "the configuration of last year does not name a leaf", former: func(d *Domain) {
			forgetsTheRoster(d)
			d.Leaves = slices.DeleteFunc(d.Leaves, func(l Leaf) bool { return l.Unnamed })
		}, tell: func(f *fleet) error {
			if err := begun(f); err != nil {
				return err
			}
			// The inventory still shows the live leaf, without a policy.
			f.leaf("client-0").Unnamed = true
			f.remove("client-0")
			if err := f.followedBy("client-0"); err != nil {
				return err
			}
			return f.holds(ReasonUnnamed)
		}},
	})
}

// TestProcessStories: a member is all of its processes, and evidence expires.
func TestProcessStories(t *testing.T) {
	stale := func(age time.Duration) func(f *fleet) error {
		return func(f *fleet) error {
			f.request("test")
			if err := f.settled(); err != nil {
				return err
			}
			before := f.d.Bundle.Anchors[:1]
			f.loadAll()
			// The report was true, but the process was restored from an older disk.
			p := f.process("client-0")
			p.trust = slices.Clone(before)
			f.now = f.now.Add(age)
			for _, other := range f.processes {
				if other != p {
					f.observe(other)
				}
			}
			if err := f.followedBy("client-0"); err != nil {
				return err
			}
			return f.holds(ReasonNotObserved)
		}
	}
	tellAll(t, []story{
		{name: "two replicas, of which one has reloaded", former: believesTheLast, tell: func(f *fleet) error {
			f.request("test")
			if err := f.settled(); err != nil {
				return err
			}
			lags := f.process("client-0")
			former := lags.member.Observations[0]
			former.Instance = "former"
			for range 8 {
				for _, p := range f.processes {
					if p != lags {
						f.load(p)
					}
					f.observe(p)
				}
				reloaded := lags.member.Observations[0]
				reloaded.Instance, reloaded.Trusts = "reloaded", nil
				for _, ca := range f.d.Bundle.Anchors {
					reloaded.Trusts = append(reloaded.Trusts, ca.Fingerprint)
				}
				former.ObservedAt = f.now.Add(-time.Second)
				lags.member.Observations = []Observation{former, reloaded}
				if err := f.settled(); err != nil {
					return err
				}
				f.pass(time.Minute)
			}
			return f.holds(ReasonAnchorNotLoaded)
		}},
		{name: "an acknowledgement of 30 days ago", former: eachObservation(func(_ *Party, o *Observation) { o.Expires = o.Expires.Add(time.Minute) }),
			tell: stale(lease + time.Second)},
		{name: "evidence of another kind", former: eachObservation(func(p *Party, o *Observation) { o.Kind = p.Kind }), tell: func(f *fleet) error {
			f.request("test")
			if err := f.settled(); err != nil {
				return err
			}
			before := f.d.Bundle.Anchors[:1]
			f.loadAll()
			p := f.process("client-0")
			p.trust = slices.Clone(before)
			// An acknowledgement proves nothing about a rollout.
			f.d.Roster, p.party.Kind = nil, StaticPodRevision
			if err := f.followedBy("client-0"); err != nil {
				return err
			}
			return f.holds(ReasonNotObserved)
		}},
		{name: "the configuration stops asking for a look", former: func(d *Domain) {
			for i := range d.Parties {
				if d.Parties[i].Kind == None {
					d.Parties[i].Kind = TLSProbe
				}
			}
		}, tell: func(f *fleet) error {
			f.request("test")
			if err := f.settled(); err != nil {
				return err
			}
			before := f.d.Bundle.Anchors[:1]
			f.loadAll()
			// The process was observed once, and is restored from an older disk after the evidence kind changed.
			p := f.process("server-0")
			p.trust = slices.Clone(before)
			p.party.Kind = None
			if err := f.followedBy("server-0"); err != nil {
				return err
			}
			return f.holds(ReasonNotObserved)
		}},
		{name: "evidence of the future", former: eachObservation(func(_ *Party, o *Observation) { o.ObservedAt, o.StartedAt = start, start }),
			tell: func(f *fleet) error {
				f.request("test")
				if err := f.settled(); err != nil {
					return err
				}
				before := f.d.Bundle.Anchors[:1]
				f.loadAll()
				p := f.process("client-0")
				p.trust = slices.Clone(before)
				p.member.Observations[0].StartedAt = f.now.Add(time.Hour)
				if err := f.followedBy("client-0"); err != nil {
					return err
				}
				return f.holds(ReasonNotObserved)
			}},
	})
}

// TestCertificateStories: anchors differ by key, name or end, and chains may have intermediates.
func TestCertificateStories(t *testing.T) {
	tellAll(t, []story{
		{name: "a CA is renewed with its key and name", former: func(d *Domain) {
			// Take one for the other.
			twin := func(ca *pki.Certificate) bool { return sameKey(ca, d.Signer.Active) && !same(ca, d.Signer.Active) }
			d.Bundle.Anchors = slices.DeleteFunc(slices.Clone(d.Bundle.Anchors), twin)
			eachObservation(func(_ *Party, o *Observation) { o.Trusts = append(o.Trusts, d.Signer.Active.Fingerprint) })(d)
		}, tell: func(f *fleet) error {
			f.pass(300 * day)
			renewed, err := f.keys[f.d.Signer.Active.Fingerprint].Resign(f.now)
			if err != nil {
				return err
			}
			f.keys[renewed.Certificate.Fingerprint] = renewed
			f.d.Signer.Active = renewed.Certificate
			for _, p := range f.processes {
				f.observe(p)
			}
			// The processes load their leaves, but not the bundle.
			for range 4 {
				if err := f.settled(); err != nil {
					return err
				}
				for _, p := range f.processes {
					for _, name := range p.member.Holds {
						p.leaves[name] = f.leaf(name).Certificate
					}
					f.observe(p)
				}
			}
			f.now = f.now.Add(66 * day)
			return f.checkHandshakes()
		}},
		{name: "a signer has another name", former: forgetsTheRoster, tell: func(f *fleet) error {
			f.d.Signer = Signer{Object: Object{Name: "renamed"}, Policy: f.d.Signer.Policy}
			f.orphaned = true
			if err := f.followedBy(); err != nil {
				return err
			}
			return f.ends()
		}},
		{name: "the root of an intermediate", former: func(d *Domain) {
			for i := range d.Leaves {
				d.Leaves[i].Authorities = nil
			}
		}, tell: func(f *fleet) error {
			root := foreign(f.world)
			between := f.raw(f.d.Signer.Active, func(c *x509.Certificate) { c.Subject.CommonName = "between" }, root)
			f.keys[between.Fingerprint] = f.keys[f.d.Signer.Active.Fingerprint]
			l := f.leaf("client-0")
			l.Certificate = f.raw(l.Certificate, func(*x509.Certificate) {}, between)
			l.Authorities = []*pki.Certificate{between}
			f.d.Bundle.Anchors = append(f.d.Bundle.Anchors, root)
			for _, anchor := range f.assess().Anchors {
				if same(anchor.Certificate, root) && anchor.SafeToRemove {
					return errors.New("the root is shown as safe to remove")
				}
			}
			return nil
		}},
	})
}

// TestAbsenceStories: nothing irreversible follows from missing objects, or from time alone.
func TestAbsenceStories(t *testing.T) {
	tellAll(t, []story{
		{name: "all Secrets are deleted while processes live", former: func(d *Domain) {
			d.Bundle.Anchors = nil
			eachObservation(func(_ *Party, o *Observation) { o.Presents = nil })(d)
		}, tell: func(f *fleet) error {
			deleteSigner(&f.d)
			f.orphaned = true
			for _, name := range f.names() {
				deleteLeaf(name)(&f.d)
			}
			if err := f.settled(); err != nil {
				return err
			}
			f.load(f.process("server-0"))
			if err := f.check(); err != nil {
				return err
			}
			if slices.Contains(f.done, "GenerateActive signer") {
				return fmt.Errorf("a new CA signs at once: %v", f.done)
			}
			return nil
		}},
		{name: "a grace period by a clock that is ahead", former: func(d *Domain) { d.ClockSkew = 0 }, tell: func(f *fleet) error {
			f.d.Roster = nil
			f.party("client-0").Kind, f.party("client-0").Grace = GracePeriod, fleetGrace
			f.request("test")
			if err := f.settled(); err != nil {
				return err
			}
			lags := slices.Clone(f.process("client-0").trust)
			f.now = f.now.Add(fleetGrace - 3*time.Minute)
			f.d.ClockSkew = 4 * time.Minute
			f.now = f.now.Add(f.d.ClockSkew)
			for _, p := range f.processes {
				f.load(p)
				f.observe(p)
			}
			f.process("client-0").trust = lags
			if err := f.settled(); err != nil {
				return err
			}
			if slices.Contains(f.done, "Promote signer") {
				return errors.New("the grace period was over before its time")
			}
			return f.holds(ReasonGracePeriod)
		}},
		{name: "the cluster is restored from before a rotation", former: func(d *Domain) {
			for i := range d.Parties {
				for k := range d.Parties[i].Members {
					d.Parties[i].Members[k].Observations = nil
				}
			}
		}, tell: func(f *fleet) error {
			former := f.former
			f.former = nil
			backup := *f.clone()
			f.request("test")
			if err := f.followedBy(); err != nil {
				return err
			}
			if err := f.ends(); err != nil {
				return err
			}
			f.former = former
			seen := slices.Clone(f.d.Parties)
			f.d.Signer, f.d.Bundle, f.d.Leaves, f.d.Requests = backup.Signer, backup.Bundle, backup.Leaves, nil
			f.d.Parties = seen
			deleteLeaf("server-0")(&f.d)
			if err := f.settled(); err != nil {
				return err
			}
			if slices.Contains(f.done[len(f.done)-1:], "IssueLeaf server-0") {
				return errors.New("a leaf was signed by a CA that nobody trusts any more")
			}
			if p := f.assess().ProblemOf("Secret/signer"); p == nil || p.Reason != ReasonDiverged {
				return fmt.Errorf("no problem says so: %+v", p)
			}
			return nil
		}},
	})
}

// TestClocksThatComeBack: all clocks jumped together, so none of them shows it. The recorded times do.
func TestClocksThatComeBack(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
	f.now = f.now.Add(20 * day)
	f.loadAll()
	f.request("test")
	if err := f.followedBy(); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(-20 * day)
	// Let the CA look old enough.
	old := f.raw(f.d.Signer.Active, func(c *x509.Certificate) { c.NotBefore = start.Add(-day) }, nil)
	f.d.Bundle.Anchors[slices.IndexFunc(f.d.Bundle.Anchors, f.d.Signer.Active.Equal)] = old
	f.d.Signer.Active = old
	f.request("again")
	if a := f.assess(); len(a.Actions) > 0 || a.ProblemOf("Secret/signer") == nil || a.ProblemOf("Secret/signer").Reason != ReasonClockSkewed {
		t.Errorf("it acts before its own past: %+v, problems %+v", a.Actions, a.Problems)
	}
	f.d.Bundle.Annotations, f.d.Signer.Annotations = map[string]string{}, map[string]string{}
	if a := f.assess(); len(a.Actions) == 0 {
		t.Error("the former model, which does not look at what was recorded, comes through it as well")
	}
}

// join adds a node's member that cannot run before it has its leaf.
func (f *fleet) join(name, uid string) {
	leaf := *f.leaf("server-0")
	leaf.Object, leaf.Certificate, leaf.Authorities = Object{Name: name}, nil, nil
	leaf.Policy.Profile.CommonName = name
	f.d.Leaves = append(f.d.Leaves, leaf)
	m := fleetMember(TLSProbe, name)
	m.Instance = uid
	p := *f.party("server-0")
	p.Name, p.Members = name, []Member{m}
	f.d.Parties = append(f.d.Parties, p)
	// The members verify each other, like etcd members.
	for _, server := range []string{"server-0", name} {
		f.party(server).Verifies = append(slices.Clone(f.party(server).Verifies), "server-0", name)
	}
	for i := range f.d.Parties {
		if slices.Contains(f.d.Parties[i].Verifies, "server-0") {
			f.d.Parties[i].Verifies = append(f.d.Parties[i].Verifies, name)
		}
		for _, process := range f.processes {
			if process.party.Name == f.d.Parties[i].Name {
				process.party, process.member = &f.d.Parties[i], &f.d.Parties[i].Members[0]
			}
		}
	}
	last := &f.d.Parties[len(f.d.Parties)-1]
	f.processes = append(f.processes, &process{party: last, member: &last.Members[0], leaves: map[string]*pki.Certificate{}, down: true})
}

// comesUp requires that the member gets its leaf and starts, and that the rotation ends.
func (f *fleet) comesUp(name string) error {
	l := f.leaf(name)
	if l.Certificate == nil || policyDifference(l.Certificate, l.Policy.Profile) != "" {
		return fmt.Errorf("nothing issues its leaf, without which it cannot start: %+v", f.assess().Blockers)
	}
	if err := f.followedBy(); err != nil {
		return err
	}
	return f.ends()
}
