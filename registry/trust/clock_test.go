// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

const years = 365 * day

// TestSkewedClock: whatever a wrong clock suggests, nothing is made or retired. Everything continues as before
// once the clock is right.
func TestSkewedClock(t *testing.T) {
	clocks := []struct {
		name string
		skew time.Duration
		// known is set if the caller has compared its clock with the API server's.
		known bool
		held  bool
	}{
		{"years ahead", 20 * years, true, true},
		{"years behind", -20 * years, true, true},
		{"years behind, and nobody knows", -20 * years, false, true},
		{"hours ahead", 3 * time.Hour, true, true},
		{"further ahead than certificates are back-dated", 5*time.Minute + 1, true, true},
		{"just too far behind", -maxClockSkew - 1, true, true},
		{"as far ahead as certificates are back-dated", 5 * time.Minute, true, false},
		{"right", 0, true, false},
	}
	states := map[string]func(w *world){
		"stable":                  func(*world) {},
		"a rotation is requested": func(w *world) { w.request("test") },
		"a leaf is missing":       func(w *world) { deleteLeaf("server")(&w.d) },
		"the bundle is missing":   func(w *world) { deleteBundle(&w.d) },
		"next can be promoted":    func(w *world) { publishedNext(w); w.reloadAll() },
		"an abort is requested":   func(w *world) { publishedNext(w); w.abort() },
		"draining":                inStage(Draining),
		"retiring":                inStage(Retiring),
	}
	for name, prepare := range states {
		for _, c := range clocks {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				w := bootstrapped(t)
				prepare(w)
				right := w.assess()
				w.now = w.now.Add(c.skew)
				if c.known {
					w.d.ClockSkew = c.skew
				}
				a := w.assess()
				if c.held {
					held(t, w, a)
				} else if p := a.ProblemOf("Secret/signer"); p != nil {
					t.Errorf("held: %+v", p)
				}
				w.now = w.now.Add(-c.skew)
				w.d.ClockSkew = 0
				if again := w.assess(); outline(again) != outline(right) {
					t.Errorf("when the clock is right again:\n%s\nwas:\n%s", outline(again), outline(right))
				}
				for range 6 {
					w.settle()
					w.reloadAll()
				}
				if a := w.settle(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
					t.Errorf("no rest: %s", outline(a))
				}
			})
		}
	}
}

func TestClockMayBeAheadByTheBackdate(t *testing.T) {
	tests := []struct {
		name         string
		signer, leaf time.Duration
		want         time.Duration
	}{
		{"both", 5 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{"that of the leaf is less", 5 * time.Minute, 2 * time.Minute, 2 * time.Minute},
		{"that of the signer is less", 3 * time.Minute, 5 * time.Minute, 3 * time.Minute},
		{"none", 0, 0, minClockSkew},
		{"more than any clock may be off", time.Hour, time.Hour, maxClockSkew},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			w.d.Signer.Policy.Profile.Backdate = tt.signer
			for i := range w.d.Leaves {
				w.d.Leaves[i].Policy.Profile.Backdate = time.Hour
			}
			w.leaf("server").Policy.Profile.Backdate = tt.leaf
			w.d.ClockSkew = tt.want
			if p := w.assess().ProblemOf("Secret/signer"); p != nil {
				t.Errorf("ahead by %s: %+v", tt.want, p)
			}
			w.d.ClockSkew++
			if p := w.assess().ProblemOf("Secret/signer"); p == nil || p.Reason != ReasonClockSkewed {
				t.Errorf("ahead by more than %s: %+v", tt.want, p)
			}
		})
	}
}

func held(t *testing.T, w *world, a *Assessment) {
	t.Helper()
	if len(a.Actions) > 0 {
		t.Errorf("done with a wrong clock: %+v", a.Actions)
	}
	p := a.Problems[0]
	if p.Object != "Secret/signer" || p.Reason != ReasonClockSkewed || !strings.Contains(p.Message, "nothing is issued or retired") {
		t.Errorf("problem %+v", p)
	}
	w.now = w.now.Add(time.Second)
	if later := w.assess().Problems[0]; later != p {
		t.Errorf("a second later the problem is %+v, was %+v: who writes it down would write for ever", later, p)
	}
	w.now = w.now.Add(-time.Second)
	if !a.InFlight() && !w.asked("signer") {
		return
	}
	for _, b := range a.Blockers {
		if b.Object == "Secret/signer" && b.Reason == ReasonObjectProblem && b.Message == p.Message {
			return
		}
	}
	t.Errorf("no blocker names the clock: %+v", a.Blockers)
}

// TestBundleLostUnderAClockAhead: the active CA is from a clock that was ahead, the bundle is lost, and leaves of the
// CA before are presented. The bundle gets its anchor back before the signer may be deleted, as the problem says.
func TestBundleLostUnderAClockAhead(t *testing.T) {
	w := bootstrapped(t)
	former := w.d.Signer.Active
	ahead := w.raw(foreign(w), func(c *x509.Certificate) { c.NotBefore, c.NotAfter = w.now.Add(day), w.now.Add(100*day) }, nil)
	w.d.Signer.Active, w.d.Signer.Previous = ahead, []*pki.Certificate{former}
	// Beside a live leaf is the anchor of a CA whose signer is gone.
	retired := retiredBeside(w, "client-a")
	deleteBundle(&w.d)
	refused := func() bool {
		after := w.clone()
		deleteSigner(after)
		return len(Judge(w.clone(), after, w.now)) > 0
	}
	if !refused() {
		t.Error("the only place with the anchor of live leaves may be deleted")
	}
	w.settle()
	for _, ca := range []*pki.Certificate{former, retired} {
		if !slices.ContainsFunc(w.d.Bundle.Anchors, ca.Equal) {
			t.Fatalf("the bundle has %d anchors, without %s: %s", len(w.d.Bundle.Anchors), ca.Subject, outline(w.assess()))
		}
	}
	if refused() {
		t.Error("the signer of the future may not be deleted")
	}
	w.d.Bundle.Anchors = nil
	if !refused() {
		t.Error("the signer may be deleted under an empty bundle")
	}
	if w.settle(); !slices.ContainsFunc(w.d.Bundle.Anchors, former.Equal) {
		t.Error("the empty bundle does not get the anchor of live leaves")
	}
}

// TestActiveCAUnpublishedUnderAClockAhead: a clock that was ahead promoted the active CA, and the CA got another key
// identifier, so that the bundle and the leaves lack its anchor. They get it before the signer may be deleted, as the
// problem says.
func TestActiveCAUnpublishedUnderAClockAhead(t *testing.T) {
	w := bootstrapped(t)
	former := w.d.Signer.Active
	for i := range w.d.Leaves {
		w.d.Leaves[i].Anchors = []*pki.Certificate{former}
	}
	w.d.Signer.Active = otherIdentifier(w, former)
	w.d.Signer.Annotations[AnnotationPromotedAt] = stamp(w.now.Add(20 * 365 * day))
	refused := func() bool {
		after := w.clone()
		deleteSigner(after)
		return len(Judge(w.clone(), after, w.now)) > 0
	}
	if !refused() {
		t.Error("the only place with the anchor of the active CA may be deleted")
	}
	w.done = nil
	w.settle()
	want := []string{"UpdateLeafAnchors client-a", "UpdateLeafAnchors client-b", "UpdateLeafAnchors server", "PublishAnchors bundle"}
	if !slices.Equal(w.done, want) {
		t.Errorf("%q was done, not %q: %s", w.done, want, outline(w.assess()))
	}
	for _, ca := range []*pki.Certificate{former, w.d.Signer.Active} {
		if !slices.ContainsFunc(w.d.Bundle.Anchors, ca.Equal) {
			t.Errorf("the bundle lacks %s of %s", ca.Fingerprint, ca.Subject)
		}
	}
	if refused() {
		t.Error("the signer of the future may not be deleted")
	}
}

// retiredBeside signs a leaf with a CA of an earlier signer, whose anchor is in ca.crt of the leaf.
func retiredBeside(w *world, leaf string) *pki.Certificate {
	made, err := pki.NewAuthority(pki.Profile{
		CommonName: pki.GenerationName(w.d.Namespace, w.d.Signer.Name, w.now.Add(-day)), Key: pki.Ed25519, Validity: 100 * day,
	}, w.now.Add(-day))
	if err != nil {
		w.t.Fatal(err)
	}
	ca := made.Certificate
	w.keys[ca.Fingerprint] = made
	l := w.leaf(leaf)
	l.Certificate, l.Authorities = signedLeaf(w, leaf, ca), []*pki.Certificate{ca}
	return ca
}

// TestLeafCreatedAhead: a Secret was made by a clock that was decades ahead. When its holder could load it is not
// known, and a wait from that time would not end. The blocker says how to end it.
func TestLeafCreatedAhead(t *testing.T) {
	w := bootstrapped(t)
	publishedNext(w)
	p := &Party{Name: "p", Kind: GracePeriod, Grace: time.Hour, Members: []Member{{Name: "m", Holds: []string{"client-a"}}}}
	trusts := func() proof { return decide(&w.d, w.now).trusts(p, &p.Members[0], w.d.Signer.Next) }
	w.leaf("client-a").Created = w.now.Add(20 * 365 * day)
	w.now = w.now.Add(2 * time.Hour)
	if v := trusts(); v.proven || !strings.Contains(v.message, "delete Secret/client-a") {
		t.Errorf("with the Secret of the future: %+v", v)
	}
	w.leaf("client-a").Created = w.now
	if v := trusts(); v.proven || !v.until.Equal(w.now.Add(time.Hour)) {
		t.Errorf("with the Secret made anew: %+v", v)
	}
}

// TestWaitsByAnyClock: a wait is never shorter than configured if the clocks of writer and reader are within the
// limits.
func TestWaitsByAnyClock(t *testing.T) {
	const wait = 15 * time.Minute
	waits := map[string]struct {
		// begin records the start of the wait.
		begin func(w *world)
		// until returns the end of the wait by the reader's clock.
		until func(w *world, a *decision) time.Time
	}{
		"a grace until an anchor is loaded": {
			begin: publishedNext,
			until: func(w *world, a *decision) time.Time {
				p := &Party{Name: "p", Kind: GracePeriod, Grace: wait, Members: []Member{{Name: "m"}}}
				return a.trusts(p, &p.Members[0], w.d.Signer.Next).until
			},
		},
		"a grace until a leaf is presented": {
			begin: func(w *world) { w.requestFor("client-a", "test"); w.settle() },
			until: func(_ *world, a *decision) time.Time {
				p := &Party{Name: "p", Kind: GracePeriod, Grace: wait, Members: []Member{{Name: "m", Holds: []string{"client-a"}}}}
				return a.delivers(p, &p.Members[0], "client-a").until
			},
		},
		"the delay after which a renewed leaf counts": {
			begin: func(w *world) { w.requestFor("client-a", "test"); w.settle() },
			until: func(w *world, a *decision) time.Time {
				p := &Party{Name: "p", Kind: Renewed, Grace: wait, Members: []Member{{Name: "m", Holds: []string{"client-a"}}}}
				return a.trusts(p, &p.Members[0], w.d.Signer.Active).until
			},
		},
		"the drain of leaves that no Secret holds": {
			begin: func(w *world) {
				w.d.Unlisted = &Unlisted{Drain: wait}
				publishedNext(w)
				w.reloadAll()
				for w.d.Signer.Next != nil && w.step() {
				}
			},
			until: func(_ *world, a *decision) time.Time { return a.drainsUntil() },
		},
		"the delay of a caBundle": {
			begin: func(w *world) {
				m := w.member("client-a")
				o := w.observation(CABundle, m)
				o.Trusts = []pki.Fingerprint{w.d.Signer.Active.Fingerprint}
				o.StartedAt = HeldSince(&w.d, nil, o.Trusts, w.now)
				m.Observations = []Observation{o}
			},
			until: func(w *world, a *decision) time.Time {
				p := &Party{Name: "p", Kind: CABundle, Grace: wait}
				return a.settled(p, &w.member("client-a").Observations[0], w.d.Signer.Active).until
			},
		},
	}
	offs := []time.Duration{-maxClockSkew, -time.Minute, 0, 5 * time.Minute}
	for name, test := range waits {
		for _, writer := range offs {
			for _, reader := range offs {
				t.Run(fmt.Sprintf("%s/written %s off, read %s off", name, writer, reader), func(t *testing.T) {
					w := bootstrapped(t)
					w.now, w.d.ClockSkew = w.now.Add(time.Hour+writer), writer
					w.reloadAll()
					test.begin(w)
					begun := w.now.Add(-writer)
					w.now, w.d.ClockSkew = begun.Add(reader), reader
					until := test.until(w, decide(&w.d, w.now))
					if really := until.Add(-reader); really.Before(begun.Add(wait - time.Second)) {
						t.Errorf("it ends after %s, want %s", really.Sub(begun), wait)
					}
					if really := until.Add(-reader); really.After(begun.Add(wait + 3*maxClockSkew)) {
						t.Errorf("it ends after %s only, want %s and what the clocks are off", really.Sub(begun), wait)
					}
				})
			}
		}
	}
}

// TestAuthorityOfTheFuture: a CA in any slot that is not yet valid shows that the clock is wrong, until it is
// valid.
func TestAuthorityOfTheFuture(t *testing.T) {
	slots := map[string]func(w *world){
		"active":   func(*world) {},
		"next":     publishedNext,
		"previous": inStage(Draining),
	}
	for name, prepare := range slots {
		t.Run(name, func(t *testing.T) {
			w := bootstrapped(t)
			prepare(w)
			s := &w.d.Signer
			ca := s.Active
			switch name {
			case "next":
				ca = s.Next
			case "previous":
				ca = s.Previous[0]
			}
			w.now = ca.NotBefore.Add(-time.Second)
			a := w.assess()
			if len(a.Actions) > 0 || a.Problems[0].Reason != ReasonClockSkewed || !strings.Contains(a.Problems[0].Message, "before the beginning of") {
				t.Fatalf("actions %+v, problems %+v", a.Actions, a.Problems)
			}
			if !a.Recheck.After(w.now) || a.Recheck.After(ca.NotBefore) {
				t.Errorf("recheck at %s, want no later than %s", a.Recheck, ca.NotBefore)
			}
			for w.now.Before(s.Active.NotBefore) || (s.Next != nil && w.now.Before(s.Next.NotBefore)) {
				next := w.assess().Recheck
				if !next.After(w.now) {
					t.Fatalf("nothing wakes it at %s", w.now)
				}
				w.now = next
			}
			if p := w.assess().ProblemOf("Secret/signer"); p != nil {
				t.Errorf("problem %+v when all CAs have begun", p)
			}
		})
	}
}

// TestPlanNamesTheClock: a plan made with a wrong clock has a blocker for it.
func TestPlanNamesTheClock(t *testing.T) {
	w := bootstrapped(t)
	w.d.ClockSkew = time.Hour
	p, err := PlanRotation(&w.d, "signer", w.now)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Blockers) != 1 || p.Blockers[0].Object != "Secret/signer" || !strings.Contains(p.Blockers[0].Message, "API server's by 1h0m0s") {
		t.Errorf("blockers %+v", p.Blockers)
	}
}

// TestBackFromTheFuture: a clock was years ahead while the controller performed the given number of actions. Once
// it is right everything is blocked, and the edits that the problems ask for lead back.
func TestBackFromTheFuture(t *testing.T) {
	for done := range 10 {
		t.Run(fmt.Sprintf("after %d actions", done), func(t *testing.T) {
			w := bootstrapped(t)
			w.now = w.now.Add(20 * years)
			for i := 0; len(w.steps()) < done && i < 40; i++ {
				if actions := w.assess().Actions; len(actions) > 0 {
					w.perform(&actions[0])
				} else {
					w.reloadAll()
				}
			}
			w.now = w.now.Add(-20 * years)
			problem := w.assess().ProblemOf("Secret/signer")
			if (problem != nil) != (done > 0) {
				t.Fatalf("back after %v: %+v", w.steps(), problem)
			}
			for range 2 {
				if problem == nil {
					break
				}
				edit := wayBack(problem)
				if edit == nil {
					t.Fatalf("no way back is named: %s", problem.Message)
				}
				after := w.clone()
				edit(after)
				if found := Judge(w.clone(), after, w.now); len(found) > 0 {
					t.Fatalf("the way back is refused: %+v", found)
				}
				edit(&w.d)
				problem = w.assess().ProblemOf("Secret/signer")
			}
			for range 8 {
				w.settle()
				w.reloadAll()
			}
			a := w.settle()
			if a.Stage != Stable || len(a.Blockers) > 0 || len(w.d.Bundle.Anchors) != 1 || !w.d.Signer.Active.ValidAt(w.now) {
				t.Fatalf("no rest: %s", outline(a))
			}
			for i := range w.d.Leaves {
				if l := &w.d.Leaves[i]; !l.Certificate.ValidAt(w.now) {
					t.Errorf("%s is not valid", l.Name)
				}
			}
		})
	}
}
