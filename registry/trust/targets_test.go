// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

var guard = InjectionTarget{Kind: "ValidatingWebhookConfiguration", Name: "guard.example"}

const settling = 10 * time.Second

// webhook returns a domain whose server kube-apiserver verifies by the CA bundle of one target.
func webhook(t *testing.T) *world {
	w := bootstrapped(t)
	w.d.Bundle.InjectInto = []InjectionTarget{guard}
	w.d.Parties = append(w.d.Parties, Party{
		Name: "kube-apiserver", Kind: CABundle, Grace: settling, Verifies: []string{"server"}, Members: []Member{{Name: guard.Member()}},
	})
	return w
}

// holds records that the target holds these anchors since then.
func (w *world) holds(since time.Time, anchors ...*pki.Certificate) {
	o := Observation{Instance: "uid", Kind: CABundle, ObservedAt: w.now, Expires: w.now.Add(lease), StartedAt: since}
	for _, ca := range anchors {
		o.Trusts = append(o.Trusts, ca.Fingerprint)
	}
	slices.Sort(o.Trusts)
	w.member("kube-apiserver").Observations = []Observation{o}
}

func TestTargetsHaveMembers(t *testing.T) {
	word := rapid.StringMatching(`[A-Z][a-zA-Z]{0,5}`)
	name := rapid.StringMatching(`[a-z.]{1,8}`)
	property.Check(t, func(t *rapid.T) {
		target := InjectionTarget{Kind: word.Draw(t, "kind"), Name: name.Draw(t, "name")}
		if got, ok := TargetOf(target.Member()); !ok || got != target {
			t.Fatalf("%s is the member %s, which is %s", target, target.Member(), got)
		}
	})
	for _, name := range []string{"", "node-1", ".x", "Kind."} {
		if got, ok := TargetOf(name); ok {
			t.Errorf("%q is the target %s", name, got)
		}
	}
}

func TestTrustByCABundle(t *testing.T) {
	for _, test := range []struct {
		name string
		see  func(w *world)
		// proven after this time, zero for never. reason and says apply until then.
		after  time.Duration
		reason Reason
		says   string
	}{
		{name: "never seen", see: func(*world) {}, reason: ReasonNotObserved, says: "has not been observed yet"},
		{name: "it holds the old one", see: func(w *world) { w.holds(w.now, w.d.Signer.Active) }, reason: ReasonAnchorNotLoaded, says: "was not given the anchor yet"},
		{name: "it holds both since now", see: func(w *world) { w.holds(w.now, w.d.Signer.Active, w.d.Signer.Next) },
			after: settling, reason: ReasonGracePeriod, says: "every kube-apiserver is assumed to verify by it from "},
		{name: "it holds both for some time", see: func(w *world) { w.holds(w.now.Add(-4*time.Second), w.d.Signer.Active, w.d.Signer.Next) },
			after: settling - 4*time.Second, reason: ReasonGracePeriod},
		{name: "the clock may be off", see: func(w *world) {
			w.d.ClockSkew = -3 * time.Second
			w.holds(w.now, w.d.Signer.Next)
		}, after: settling + 3*time.Second, reason: ReasonGracePeriod},
		{name: "it holds it since nobody knows when", see: func(w *world) { w.holds(time.Time{}, w.d.Signer.Next) }, reason: ReasonNotObserved, says: "looked at again"},
		{name: "it cannot be read", see: func(w *world) {
			w.holds(w.now.Add(-time.Hour), w.d.Signer.Next)
			w.member("kube-apiserver").Observations[0].Failure = "does not exist"
		}, reason: ReasonNotObserved, says: "cannot be observed: does not exist"},
		{name: "another kind saw it", see: func(w *world) {
			w.holds(w.now.Add(-time.Hour), w.d.Signer.Next)
			w.member("kube-apiserver").Observations[0].Kind = Acknowledgement
		}, reason: ReasonNotObserved, says: "has no evidence of the kind caBundle"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := webhook(t)
			publishedNext(w)
			test.see(w)
			p, m := w.party("kube-apiserver"), w.member("kube-apiserver")
			before := decide(&w.d, w.now).trusts(p, m, w.d.Signer.Next)
			if before.proven || before.reason != test.reason || !strings.Contains(before.message, test.says) {
				t.Errorf("got %+v, want %s: ...%s...", before, test.reason, test.says)
			}
			if want := w.now.Add(test.after); test.after > 0 && !before.until.Equal(want) {
				t.Errorf("it changes at %s, want %s", before.until, want)
			}
			for _, step := range []struct {
				at     time.Duration
				proven bool
			}{{test.after - time.Nanosecond, false}, {test.after, test.after > 0}, {time.Hour, test.after > 0}} {
				if v := decide(&w.d, w.now.Add(step.at)).trusts(p, m, w.d.Signer.Next); v.proven != step.proven {
					t.Errorf("after %s: %+v", step.at, v)
				}
			}
		})
	}
}

func TestHeldSince(t *testing.T) {
	now, earlier := start, start.Add(-time.Hour)
	a, b := pki.Fingerprint("a"), pki.Fingerprint("b")
	known := func(change func(*Observation)) *Observation {
		o := &Observation{Trusts: []pki.Fingerprint{a, b}, StartedAt: earlier, ObservedAt: now.Add(-time.Minute), Expires: now.Add(time.Minute)}
		if change != nil {
			change(o)
		}
		return o
	}
	for name, test := range map[string]struct {
		before *Observation
		held   []pki.Fingerprint
		want   time.Time
	}{
		"nothing is known":        {nil, []pki.Fingerprint{a}, now},
		"the same":                {known(nil), []pki.Fingerprint{a, b}, earlier},
		"one was lost":            {known(nil), []pki.Fingerprint{b}, earlier},
		"one was gained":          {known(nil), []pki.Fingerprint{a, b, "c"}, now},
		"one was replaced":        {known(nil), []pki.Fingerprint{a, "c"}, now},
		"it could not be read":    {known(func(o *Observation) { o.Failure = "empty" }), []pki.Fingerprint{a}, now},
		"that has ended":          {known(func(o *Observation) { o.Expires = now }), []pki.Fingerprint{a}, now},
		"by a clock that was off": {known(func(o *Observation) { o.StartedAt = now.Add(time.Second) }), []pki.Fingerprint{a}, now},
		"since no time":           {known(func(o *Observation) { o.StartedAt = time.Time{} }), []pki.Fingerprint{a}, now},
	} {
		t.Run(name, func(t *testing.T) {
			if got := HeldSince(&Domain{}, test.before, test.held, now); !got.Equal(test.want) {
				t.Errorf("since %s, want %s", got, test.want)
			}
		})
	}
}

// TestRotationWaitsForTheTarget: no leaf is signed before the target has held the next CA for the settling time.
// The assessment sets the recheck accordingly.
func TestRotationWaitsForTheTarget(t *testing.T) {
	w := webhook(t)
	w.holds(w.now.Add(-time.Hour), w.d.Signer.Active)
	old := w.leaf("server").Certificate
	w.request("drill")
	w.settle()
	w.reloadAll()
	w.settle()
	if got := w.leaf("server").Certificate; got != old {
		t.Fatal("the leaf was signed though the target does not hold the next CA")
	}
	w.holds(w.now, w.d.Bundle.Anchors...)
	if a := w.settle(); w.leaf("server").Certificate != old || !a.Recheck.Equal(w.now.Add(settling)) {
		t.Fatalf("signed at once, or looked at again at %s", a.Recheck)
	}
	w.now = w.now.Add(settling)
	w.settle()
	if w.leaf("server").Certificate == old || w.d.Signer.Next != nil {
		t.Fatal("the rotation does not go on when the target holds the next CA for long enough")
	}
	w.reloadAll()
	if a := w.settle(); a.Stage != Stable {
		t.Errorf("it is %s: %v", a.Stage, a.Blockers)
	}
}

// TestTargetIsLeftOut: a target that is removed from injectInto during a rotation is no longer updated, but
// kube-apiserver still verifies by its anchors. So it counts until it is restored, waived, or proven not to exist.
func TestTargetIsLeftOut(t *testing.T) {
	for _, test := range []struct {
		name string
		out  func(w *world)
		gone bool
	}{
		{name: "it exists", out: func(*world) {}},
		{name: "it is proven to be gone", out: func(w *world) {
			for _, m := range Missing(&w.d) {
				w.d.Absences = map[string]string{AbsenceKey(&m): AbsentTarget(&m, false)}
			}
		}, gone: true},
		{name: "it is waived", out: func(w *world) {
			w.d.Waivers = []Waiver{{Party: "kube-apiserver", Member: guard.Member(), Reason: "r", Expires: w.now.Add(time.Hour), Rotation: RotationOf(&w.d)}}
		}, gone: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := webhook(t)
			other := InjectionTarget{Kind: "APIService", Name: "v1.example"}
			w.party("kube-apiserver").Members = append(w.party("kube-apiserver").Members, Member{Name: other.Member()})
			w.request("drill")
			w.settle()
			w.reloadAll()
			w.holds(w.now.Add(-time.Hour), w.d.Bundle.Anchors...)
			p := w.party("kube-apiserver")
			p.Members[1].Observations = p.Members[0].Observations
			p.Members = p.Members[1:]
			test.out(w)
			a := w.settle()
			waits := slices.IndexFunc(a.Blockers, func(b Blocker) bool { return b.Member == guard.Member() })
			switch {
			case test.gone && waits >= 0:
				t.Errorf("it is waited for: %v", &a.Blockers[waits])
			case !test.gone && waits < 0:
				t.Error("it is not waited for")
			case !test.gone && !strings.Contains(a.Blockers[waits].Message, "delete the object"):
				t.Errorf("nothing says what to do: %v", &a.Blockers[waits])
			}
		})
	}
}

func TestAbsentTarget(t *testing.T) {
	if proof := AbsentTarget(&RosterMember{Member: guard.Member()}, false); proof != "no ValidatingWebhookConfiguration is called guard.example" {
		t.Errorf("the proof is %q", proof)
	}
	if proof := AbsentTarget(&RosterMember{Member: guard.Member()}, true); proof != "" {
		t.Errorf("it exists, and is gone: %q", proof)
	}
	if proof := AbsentTarget(&RosterMember{Member: "node-1"}, false); proof != "" {
		t.Errorf("what is no target is gone: %q", proof)
	}
}
