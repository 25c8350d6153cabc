// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

var (
	serverKinds = []EvidenceKind{TLSProbe, Acknowledgement, GracePeriod}
	// A server whose evidence is the renewal of its own leaf would wait for clients that wait for it.
	clientKinds = []EvidenceKind{Acknowledgement, GracePeriod, Renewed}
)

// TestNobodyIsEverCutOff: no sequence of admitted edits, passing time and actions makes an unproven step possible.
// No handshake ever fails, and every story comes to rest.
func TestNobodyIsEverCutOff(t *testing.T) {
	property.Check(t, func(rt *rapid.T) { plays(rt, (*tale).handshakes) })
}

// TestJudgeAdmitsWhatAssessProposes: in every state of a story, the guard admits every proposed action.
func TestJudgeAdmitsWhatAssessProposes(t *testing.T) {
	property.Check(t, func(rt *rapid.T) { plays(rt, (*tale).proposals) })
}

// plays plays a random story of a trust domain. Controller, processes, observations, time and people move in any
// order, and the promise is checked after each move.
func plays(rt *rapid.T, promise func(*tale, *Assessment)) {
	top := topology{
		servers: rapid.SliceOfN(rapid.SampledFrom(serverKinds), 1, 3).Draw(rt, "servers"),
		clients: rapid.SliceOfN(rapid.SampledFrom(clientKinds), 0, 3).Draw(rt, "clients"),
		peers:   rapid.Bool().Draw(rt, "peers"),
		beside:  rapid.Bool().Draw(rt, "anchors beside the leaves"),
	}
	// The leaves of the servers need verifiers.
	top.peers = top.peers || len(top.clients) == 0
	s := &tale{rt: rt, fleet: newFleet(rt, top), promise: promise}
	s.d.ReissuePerMinute = rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "reissues in a minute")
	rt.Logf("servers %v, clients %v, peers %t", top.servers, top.clients, top.peers)
	rt.Repeat(map[string]func(*rapid.T){
		"":               s.invariants,
		"controller":     s.controller,
		"controller too": s.controller,
		"load":           s.loads,
		"observe":        s.observes,
		"both":           s.loadsAndIsObserved,
		"restart":        s.restarts,
		"time":           s.time,
		"request":        s.request,
		"abort":          s.abort,
		"delete leaf":    s.deleteLeaf,
		"delete bundle":  s.deleteBundle,
		"delete signer":  s.deleteSigner,
		"clock":          s.clock,
		"policy":         s.policy,
		"configuration":  s.reconfigure,
		"backup":         s.backsUp,
		"restore":        s.restores,
	})
	s.comesToRest()
}

// tale is a fleet in a random story.
type tale struct {
	*fleet
	rt *rapid.T
	// promise is checked after each move.
	promise func(*tale, *Assessment)
	// configured is the operator's intent. The configuration returns to it when no rotation is in flight.
	configured []Party
	// backup is an earlier state.
	backup *Domain
}

func (s *tale) logf(format string, args ...any) {
	s.rt.Logf("%s  %s", s.now.Format("2006-01-02 15:04:05"), fmt.Sprintf(format, args...))
}

func (s *tale) invariants(rt *rapid.T) {
	s.comesBack(s.assess())
	a := s.assess()
	s.dead = s.dead || s.isDead()
	s.promise(s, a)
	if a.Stage == Stable {
		s.orphaned = s.orphaned && s.d.Signer.Active == nil
	}
	if a.Recheck.IsZero() {
		return
	}
	if before := Assess(&s.d, a.Recheck.Add(-1)); outline(before) != outline(a) {
		rt.Fatalf("time changed the assessment before its recheck at %s:\n%s\n%s", a.Recheck, outline(a), outline(before))
	}
}

// handshakes checks the handshakes between all processes.
func (s *tale) handshakes(a *Assessment) {
	if err := s.check(); err != nil && !s.dead {
		s.rt.Fatalf("in the stage %s: %v", a.Stage, err)
	}
}

// proposals judges each action of an assessment as if it were performed next.
func (s *tale) proposals(a *Assessment) {
	for i := range a.Actions {
		now, done := s.d, slices.Clone(s.done)
		before := s.clone()
		s.d = *s.clone()
		s.perform(&a.Actions[i])
		found := Judge(before, s.clone(), s.now)
		s.d, s.done = now, done
		if len(found) > 0 {
			s.rt.Fatalf("in the stage %s the guard would refuse %s %s: %+v", a.Stage, a.Actions[i].Kind, a.Actions[i].Object, found)
		}
	}
}

// isDead reports whether there is neither a valid leaf nor a CA that can sign.
func (s *tale) isDead() bool {
	for i := range s.d.Leaves {
		if c := s.d.Leaves[i].Certificate; c != nil && !c.Expired(s.now) {
			return false
		}
	}
	return s.d.Signer.Active == nil || s.d.Signer.Active.Expired(s.now)
}

// outline returns the parts of an assessment that only an event may change.
func outline(a *Assessment) string {
	var b strings.Builder
	fmt.Fprint(&b, a.Stage, a.StageSince, a.StageDeadline, a.Blocked())
	for i := range a.Actions {
		fmt.Fprint(&b, " ", a.Actions[i].Kind, " ", a.Actions[i].Object)
	}
	for _, x := range a.Blockers {
		fmt.Fprint(&b, "\n", x)
	}
	for _, p := range a.Problems {
		fmt.Fprint(&b, "\n", p)
	}
	for _, l := range a.Leaves {
		fmt.Fprint(&b, "\n", l.Name, l.SignedBySlot, l.Usable, l.Trusted)
	}
	for _, x := range a.Anchors {
		fmt.Fprint(&b, "\n", x.Slot, x.Leaves, x.Trusted, x.NeededBy)
	}
	for _, m := range a.Members {
		fmt.Fprint(&b, "\n", m)
	}
	return b.String()
}

func (s *tale) controller(rt *rapid.T) {
	actions := s.assess().Actions
	if len(actions) == 0 {
		rt.Skip("nothing to do")
	}
	action := &actions[rapid.IntRange(0, len(actions)-1).Draw(rt, "which")]
	s.performs(action)
}

func (s *tale) performs(action *Action) {
	s.logf("controller: %s %s, as %s", action.Kind, action.Object, action.Reason)
	if found := s.act(action); len(found) > 0 {
		s.rt.Fatalf("the guard would refuse the controller: %+v", found)
	}
}

func (s *tale) draw(rt *rapid.T) *process {
	return s.process(rapid.SampledFrom(s.names()).Draw(rt, "process"))
}

func (s *tale) loads(rt *rapid.T) {
	p := s.draw(rt)
	s.logf("%s (%s) loads", p.member.Name, p.party.Kind)
	s.load(p)
}

func (s *tale) observes(rt *rapid.T) {
	p := s.draw(rt)
	s.logf("%s is observed", p.member.Name)
	s.observe(p)
}

func (s *tale) loadsAndIsObserved(rt *rapid.T) {
	p := s.draw(rt)
	s.logf("%s (%s) loads and is observed", p.member.Name, p.party.Kind)
	s.load(p)
	s.observe(p)
}

func (s *tale) restarts(rt *rapid.T) {
	p := s.draw(rt)
	s.logf("%s restarts", p.member.Name)
	s.restart(p)
}

func (s *tale) time(rt *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		time.Second, time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, 100 * 24 * time.Hour,
	}).Draw(rt, "duration")
	s.logf("%s pass", d)
	s.pass(d)
}

// clock makes the controller's clock wrong for a moment. The controller must do nothing.
func (s *tale) clock(rt *rapid.T) {
	skew := rapid.SampledFrom([]time.Duration{
		-50 * years, -time.Hour, -maxClockSkew - 1, 5*time.Minute + 1, time.Hour, 60 * day, 50 * years,
	}).Draw(rt, "skew")
	d := s.clone()
	d.ClockSkew = skew
	s.logf("the controller's clock is off by %s", skew)
	if a := Assess(d, s.now.Add(skew)); len(a.Actions) > 0 || a.ProblemOf(secret("signer")) == nil {
		rt.Fatalf("with a clock that is off by %s: %s", skew, outline(a))
	}
}

// policy changes the policy of the next certificates.
func (s *tale) policy(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "signer") == 0 {
		key := rapid.SampledFrom([]pki.KeyAlgorithm{pki.Ed25519, pki.ECDSAP256}).Draw(rt, "key")
		s.logf("the key of the signer is to be %s", key)
		s.d.Signer.Policy.Profile.Key = key
		return
	}
	l := s.leaf(rapid.SampledFrom(s.names()).Draw(rt, "leaf"))
	p := &l.Policy
	p.RenewBefore = time.Duration(rapid.IntRange(0, 60).Draw(rt, "renewBefore")) * day
	p.JitterPercent = rapid.Int32Range(0, 20).Draw(rt, "jitter")
	p.Profile.Organizations = rapid.SampledFrom([][]string{nil, {"a"}, {"b", "a"}}).Draw(rt, "organizations")
	s.logf("leaf %s is of another policy: %+v", l.Name, *p)
}

func (s *tale) request(rt *rapid.T) {
	if !s.d.Signer.Present {
		rt.Skip("no signer")
	}
	if rapid.Bool().Draw(rt, "as library-go") {
		s.tries("the annotation "+AnnotationNotAfter+" of the signer is deleted", func(d *Domain) {
			delete(d.Signer.Annotations, AnnotationNotAfter)
		})
		return
	}
	s.logf("a rotation is requested")
	s.addRequest(Request{Kind: RequestRotate, Secret: "signer", Compromised: rapid.Bool().Draw(rt, "compromised")})
}

func (s *tale) abort(rt *rapid.T) {
	if !s.d.Signer.Present {
		rt.Skip("no signer")
	}
	s.logf("an abort is requested")
	s.fleet.abort()
}

func (s *tale) deleteLeaf(rt *rapid.T) {
	name := rapid.SampledFrom(s.names()).Draw(rt, "leaf")
	s.tries("leaf "+name+" is deleted", deleteLeaf(name))
}

func (s *tale) deleteBundle(*rapid.T) { s.tries("the bundle is deleted", deleteBundle) }

func (s *tale) deleteSigner(*rapid.T) {
	if s.tries("the signer is deleted", deleteSigner) {
		s.orphaned = true
	}
}

// tries makes an edit, which the guard may refuse.
func (s *tale) tries(what string, change func(*Domain)) bool {
	found := s.edit(change)
	if len(found) > 0 {
		s.logf("%s: refused by %s", what, found[0].Invariant)
		return false
	}
	s.logf("%s", what)
	return true
}

// reconfigure removes a party from the configuration during a rotation, or weakens its evidence. The party still
// counts.
func (s *tale) reconfigure(rt *rapid.T) {
	a := s.assess()
	if a.Stage == Stable || s.configured != nil || newChoice(decide(&s.d, s.now)).rosterDue() || decide(&s.d, s.now).unrotated {
		rt.Skip("nothing is in flight")
	}
	s.configured = s.d.Parties
	s.d.Parties = s.clone().Parties
	i := rapid.IntRange(0, len(s.d.Parties)-1).Draw(rt, "party")
	p := &s.d.Parties[i]
	switch rapid.SampledFrom([]string{"removed", "grace", "none", "verifies nothing", "holds nothing"}).Draw(rt, "edit") {
	case "removed":
		s.logf("the party %s is removed from the configuration", p.Name)
		s.d.Parties = slices.Delete(s.d.Parties, i, i+1)
	case "grace":
		s.logf("the party %s is given a grace period of a second", p.Name)
		p.Kind, p.Grace = GracePeriod, time.Second
	case "none":
		s.logf("nothing is asked of the party %s", p.Name)
		p.Kind, p.Reason = None, "story"
	case "verifies nothing":
		s.logf("the party %s is said to verify nothing", p.Name)
		p.Verifies, p.VerifiesNothing = nil, true
	case "holds nothing":
		s.logf("the party %s is said to present nothing", p.Name)
		p.Members[0].Holds = nil
	}
}

// comesBack restores the intended configuration once no rotation is in flight.
func (s *tale) comesBack(a *Assessment) {
	if s.configured == nil || (a.Stage != Stable && !decide(&s.d, s.now).unrotated) {
		return
	}
	s.logf("the configuration is as before")
	s.d.Parties, s.configured = s.configured, nil
}

func (s *tale) backsUp(*rapid.T) {
	s.logf("a backup is made")
	s.backup = s.clone()
}

// restores restores one object from the backup, if the guard admits it.
func (s *tale) restores(rt *rapid.T) {
	if s.backup == nil {
		rt.Skip("no backup")
	}
	switch which := rapid.SampledFrom(append([]string{"signer", "bundle"}, s.names()...)).Draw(rt, "object"); which {
	case "signer":
		// The backup holds keys that are gone from the slots, so that leaves of them are no orphans.
		if s.tries("the signer is restored", func(d *Domain) { d.Signer = s.backup.Signer }) && !s.backup.Signer.Present {
			s.orphaned = true
		}
	case "bundle":
		s.tries("the bundle is restored", func(d *Domain) { d.Bundle = s.backup.Bundle })
	default:
		s.tries("the leaf "+which+" is restored", func(d *Domain) {
			for i := range d.Leaves {
				if d.Leaves[i].Name == which {
					at := slices.IndexFunc(s.backup.Leaves, func(l Leaf) bool { return l.Name == which })
					policy := d.Leaves[i].Policy
					d.Leaves[i] = s.backup.Leaves[at]
					d.Leaves[i].Policy = policy
				}
			}
		})
	}
}

// comesToRest requires that the domain is Stable with one anchor after every process has loaded and was observed
// repeatedly.
func (s *tale) comesToRest() {
	s.logf("from here on everybody loads and is observed")
	if s.configured != nil {
		s.d.Parties, s.configured = s.configured, nil
	}
	for range 20 {
		for n := 0; ; n++ {
			actions := s.assess().Actions
			if len(actions) == 0 {
				break
			}
			if n == 100 {
				s.rt.Fatalf("no end of actions: %s %s, as %s", actions[0].Kind, actions[0].Object, actions[0].Reason)
			}
			s.performs(&actions[0])
			s.invariants(s.rt)
		}
		s.pass(fleetGrace)
		s.loadAll()
		s.invariants(s.rt)
	}
	a := s.assess()
	if a.Stage != Stable || len(s.d.Bundle.Anchors) != 1 || len(a.Actions) > 0 || len(a.Blockers) > 0 {
		s.rt.Fatalf("no rest: %s\n%d anchors", outline(a), len(s.d.Bundle.Anchors))
	}
	for _, l := range a.Leaves {
		if !l.Usable || l.SignedBySlot != SlotActive {
			s.rt.Fatalf("at rest, leaf %s is not usable: %+v", l.Name, l)
		}
	}
}
