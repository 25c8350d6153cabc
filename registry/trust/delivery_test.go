// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

func TestDelivery(t *testing.T) {
	const grace = time.Hour
	tests := []struct {
		name   string
		kind   EvidenceKind
		after  time.Duration
		set    func(w *world, o *Observation, current, older pki.Fingerprint)
		proven bool
		reason Reason
	}{
		{name: "presents the current leaf", kind: TLSProbe, proven: true,
			set: func(_ *world, o *Observation, current, _ pki.Fingerprint) { o.Presents = []pki.Fingerprint{current} }},
		{name: "presents an older one", kind: TLSProbe, reason: ReasonLeafNotPresented,
			set: func(_ *world, o *Observation, _, older pki.Fingerprint) { o.Presents = []pki.Fingerprint{older} }},
		{name: "presents an older one as well", kind: Acknowledgement, reason: ReasonLeafNotPresented,
			set: func(_ *world, o *Observation, current, older pki.Fingerprint) {
				o.Presents = []pki.Fingerprint{current, older}
			}},
		{name: "presents nothing", kind: Acknowledgement, reason: ReasonLeafNotPresented,
			set: func(*world, *Observation, pki.Fingerprint, pki.Fingerprint) {}},
		{name: "cannot be observed", kind: TLSProbe, reason: ReasonNotObserved,
			set: func(_ *world, o *Observation, current, _ pki.Fingerprint) {
				o.Presents, o.Failure = []pki.Fingerprint{current}, "timeout"
			}},
		{name: "the leaf is gone", kind: TLSProbe, reason: ReasonLeafNotPresented,
			set: func(w *world, o *Observation, current, _ pki.Fingerprint) {
				o.Presents = []pki.Fingerprint{current}
				w.leaf("server").Certificate = nil
			}},
		{name: "renewed: the Secret is not enough", kind: Renewed, after: grace - time.Second, reason: ReasonGracePeriod,
			set: func(*world, *Observation, pki.Fingerprint, pki.Fingerprint) {}},
		{name: "renewed: after the delay", kind: Renewed, after: grace, proven: true,
			set: func(*world, *Observation, pki.Fingerprint, pki.Fingerprint) {}},
		{name: "before the end of the grace period", kind: GracePeriod, after: grace - time.Second, reason: ReasonGracePeriod,
			set: func(*world, *Observation, pki.Fingerprint, pki.Fingerprint) {}},
		{name: "at the end of the grace period", kind: GracePeriod, after: grace, proven: true,
			set: func(*world, *Observation, pki.Fingerprint, pki.Fingerprint) {}},
		{name: "issued-at in the past is not believed", kind: GracePeriod, after: grace - time.Second, reason: ReasonGracePeriod,
			set: func(w *world, _ *Observation, _, _ pki.Fingerprint) {
				w.leaf("server").Annotations[AnnotationIssuedAt] = "2000-01-01T00:00:00Z"
			}},
		{name: "issued-at missing: the certificate tells", kind: GracePeriod, after: grace, proven: true,
			set: func(w *world, _ *Observation, _, _ pki.Fingerprint) {
				delete(w.leaf("server").Annotations, AnnotationIssuedAt)
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			older := w.leaf("server").Certificate.Fingerprint
			w.perform(&Action{Kind: IssueLeaf, Object: "server", Authority: w.d.Signer.Active.Fingerprint, Profile: w.leaf("server").Policy.Profile})
			current := w.leaf("server").Certificate.Fingerprint
			p := &Party{Name: "p", Kind: tt.kind, Grace: grace, Members: []Member{
				{Name: "m", Holds: []string{"stranger", "server"}, Probes: []Probe{{Address: "m:443", Presents: "server"}}},
			}}
			o := w.observation(tt.kind, &p.Members[0])
			tt.set(w, &o, current, older)
			p.Members[0].Observations = []Observation{o}
			w.d.Parties = append(w.d.Parties, *p)
			p = &w.d.Parties[len(w.d.Parties)-1]
			v := decide(&w.d, w.now.Add(tt.after)).deliversAll(p, &p.Members[0])
			if v.proven != tt.proven || v.reason != tt.reason {
				t.Errorf("got %+v, want proven %t, reason %q", v, tt.proven, tt.reason)
			}
		})
	}
}

// TestNextDeliveryStep: the message about an older leaf names the step that can replace it. If a rollout delivers
// leaves, that is not a reload.
func TestNextDeliveryStep(t *testing.T) {
	for kind, want := range map[EvidenceKind]string{
		StaticPodRevision: "its rollout has not brought the leaf there yet",
		WorkloadRollout:   "its rollout has not brought the leaf there yet",
		Mounted:           "the writer of the immutable Secrets of its pods has not brought the leaf there yet",
		TLSProbe:          "make it reload its leaf",
		Acknowledgement:   "make it reload its leaf and acknowledge",
	} {
		t.Run(string(kind), func(t *testing.T) {
			w := bootstrapped(t)
			p := &Party{Name: "p", Kind: kind, Members: []Member{
				{Name: "m", Holds: []string{"server"}, Probes: []Probe{{Address: "m:443", Presents: "server"}}},
			}}
			o := w.observation(kind, &p.Members[0])
			o.Presents = []pki.Fingerprint{"older"}
			if kind == Mounted {
				o.Address, p.Members[0].Probes = p.Mounts.Place(), nil
			}
			p.Members[0].Observations = []Observation{o}
			w.d.Parties = append(w.d.Parties, *p)
			p = &w.d.Parties[len(w.d.Parties)-1]
			v := decide(&w.d, w.now).deliversAll(p, &p.Members[0])
			if want := "does not present the current Secret/server yet: " + want; v.message != want {
				t.Errorf("message %q, want %q", v.message, want)
			}
		})
	}
}

// TestRecheckIsTheNextChange moves from recheck to recheck. The rotation must need nothing else.
func TestRecheckIsTheNextChange(t *testing.T) {
	w := newWorld(t)
	for i := range w.d.Parties {
		w.d.Parties[i].Kind, w.d.Parties[i].Grace = GracePeriod, 10*time.Minute
	}
	w.settle()
	w.now = w.now.Add(10 * time.Minute)
	w.settle()
	if want := refresh(w.leaf("server").Certificate, w.leaf("server").Policy); !w.assess().Recheck.Equal(want) {
		t.Errorf("stable: recheck at %s, want %s when a leaf is due", w.assess().Recheck, want)
	}
	w.request("test")
	began := w.now
	for range 10 {
		a := w.settle()
		if a.Stage == Stable {
			break
		}
		w.now = a.Recheck
	}
	// One grace period for the anchor, and one for the leaves.
	if took := w.now.Sub(began).Round(time.Minute); took != 20*time.Minute || w.assess().Stage != Stable {
		t.Errorf("%s after %s, want %s after 20m", w.assess().Stage, took, Stable)
	}
}

func TestRecordedTimesAreNeverEarly(t *testing.T) {
	for _, offset := range []time.Duration{0, 1, time.Second / 2, time.Second - 1} {
		got, err := time.Parse(time.RFC3339, stamp(start.Add(offset)))
		if err != nil || got.Before(start.Add(offset)) || got.Sub(start.Add(offset)) >= time.Second {
			t.Errorf("+%s is written as %s (%v)", offset, got, err)
		}
	}
}
