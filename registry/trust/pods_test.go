// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
)

// running returns a pod whose containers run.
func running(name, uid string) Member {
	return Member{Name: name, Instance: uid, Holds: []string{"server"}, Pod: &Pod{Started: true, Process: uid + "/1"}}
}

func pending(name, uid string) Member {
	return Member{Name: name, Instance: uid, Holds: []string{"server"}, Pod: &Pod{}}
}

// podWorld returns a stable domain whose server is a party of pods, with that kind of evidence.
func podWorld(t rapid.TB, kind EvidenceKind, members ...Member) *world {
	w := newWorld(t)
	for i := range members {
		members[i].Probes = probesOf(kind, &members[i])
	}
	w.d.Parties[0] = Party{
		Name: "server", Kind: kind, Verifies: []string{"client-a", "client-b"},
		OfPods: true, Presents: []string{"server"}, Selector: "app=server", Members: members,
	}
	w.settle()
	w.loadPods()
	w.reload("client-a", "client-b")
	w.settle()
	w.done = nil
	return w
}

func probesOf(kind EvidenceKind, m *Member) []Probe {
	if kind != TLSProbe {
		return nil
	}
	return []Probe{{Address: m.Name + ":443", Presents: "server"}}
}

func (w *world) pods() *Party { return w.d.Party("server") }

func (w *world) chosen(members ...Member) {
	for i := range members {
		members[i].Probes = probesOf(w.pods().Kind, &members[i])
	}
	w.pods().Members = members
}

// loadPods makes the named pods, or all, load what is published and be observed.
func (w *world) loadPods(names ...string) {
	p := w.pods()
	for i := range p.Members {
		m := &p.Members[i]
		if m.Pod.Process == "" || len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		o := w.observation(p.Kind, m)
		o.Instance = m.Pod.Process
		if p.Kind == Acknowledgement {
			o.Instance = m.Instance
		}
		if p.Kind == Mounted {
			o.Address = p.Mounts.Place()
		}
		for _, ca := range w.d.Bundle.Anchors {
			o.Trusts = append(o.Trusts, ca.Fingerprint)
		}
		if c := w.leaf("server").Certificate; c != nil {
			o.Presents = []pki.Fingerprint{c.Fingerprint}
		}
		m.Observations = []Observation{o}
	}
}

// waitsFor returns the members of the pods' party that block, in order.
func (w *world) waitsFor() []string {
	var out []string
	for _, b := range w.assess().Blockers {
		if b.Party == "server" {
			out = append(out, b.Member)
		}
	}
	return sortedSet(out)
}

func TestLifeOfAPod(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  Pod
		want PodLife
	}{
		"nothing was started":                 {Pod{}, PodPending},
		"deleted before anything was started": {Pod{Terminating: true}, PodPending},
		"runs":                                {Pod{Started: true, Process: "x"}, PodRunning},
		"crashes and will be started again":   {Pod{Started: true, Trouble: "CrashLoopBackOff"}, PodRunning},
		"was deleted and runs":                {Pod{Started: true, Process: "x", Terminating: true}, PodTerminating},
		"was deleted and its containers end":  {Pod{Started: true, Terminating: true}, PodTerminating},
		"has ended":                           {Pod{Started: true, Ended: true}, PodEnded},
		"was evicted before it started":       {Pod{Ended: true}, PodEnded},
		"has ended and is being deleted":      {Pod{Started: true, Ended: true, Terminating: true}, PodEnded},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.pod.Life(); got != tt.want {
				t.Errorf("Life() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAbsentPod(t *testing.T) {
	m := &RosterMember{Party: "server", Member: "web-0", Instance: "a", Pod: true}
	for name, tt := range map[string]struct {
		uid  string
		life PodLife
		want string
	}{
		"no pod has its name":      {want: "there is no pod web-0"},
		"another pod has its name": {uid: "b", life: PodRunning, want: "pod web-0 has the UID b now, and had a"},
		"it has ended":             {uid: "a", life: PodEnded, want: "all containers of pod web-0 have ended"},
		"it runs":                  {uid: "a", life: PodRunning},
		"it terminates":            {uid: "a", life: PodTerminating},
		"it is pending":            {uid: "a", life: PodPending},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AbsentPod(m, tt.uid, tt.life); got != tt.want {
				t.Errorf("AbsentPod() = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestObservationIsOfWhatRuns: an external observation applies to the containers that ran then. An acknowledgement
// applies to the pod.
func TestObservationIsOfWhatRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		pod      Pod
		kind     EvidenceKind
		instance string
		want     bool
	}{
		"probed, the same containers":      {Pod{Process: "p1"}, TLSProbe, "p1", true},
		"probed before a restart":          {Pod{Process: "p2"}, TLSProbe, "p1", false},
		"probed, and nothing runs now":     {Pod{}, TLSProbe, "", false},
		"probed under the UID of the pod":  {Pod{Process: "p1"}, TLSProbe, "uid", false},
		"acknowledged by the pod":          {Pod{Process: "p1"}, Acknowledgement, "uid", true},
		"acknowledged by a former pod":     {Pod{Process: "p1"}, Acknowledgement, "former", false},
		"acknowledged under its process":   {Pod{Process: "p1"}, Acknowledgement, "p1", false},
		"acknowledged, nothing runs now":   {Pod{}, Acknowledgement, "uid", true},
		"rolled out, the same containers":  {Pod{Process: "p1"}, WorkloadRollout, "p1", true},
		"mounted, the same containers":     {Pod{Process: "p1"}, Mounted, "p1", true},
		"mounted, before a restart":        {Pod{Process: "p2"}, Mounted, "p1", false},
		"rolled out, under another's name": {Pod{Process: "p1"}, WorkloadRollout, "uid", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.pod.of(&Observation{Kind: tt.kind, Instance: tt.instance}, "uid"); got != tt.want {
				t.Errorf("of() = %t, want %t", got, tt.want)
			}
		})
	}
}

// TestPodsThatCount is the table in the doc comment of counted, for pods.
func TestPodsThatCount(t *testing.T) {
	for name, tt := range map[string]struct {
		atRest bool
		edit   func(w *world)
		want   []string
	}{
		"a new pod in flight":                     {edit: func(w *world) { w.chosen(running("a", "1"), running("b", "2")) }, want: []string{"a", "b"}},
		"a new pod that is pending":               {edit: func(w *world) { w.chosen(running("a", "1"), pending("b", "2")) }, want: []string{"a"}},
		"a pod that left the selector in flight":  {edit: func(w *world) { w.chosen() }, want: []string{"a"}},
		"another UID under its name in flight":    {edit: func(w *world) { w.chosen(running("a", "2")) }, want: []string{"a", "a"}},
		"one that terminates":                     {edit: func(w *world) { w.pods().Members[0].Pod.Terminating = true }, want: []string{"a"}},
		"a pod that left the selector at rest":    {atRest: true, edit: func(w *world) { w.chosen() }},
		"another UID under its name at rest":      {atRest: true, edit: func(w *world) { w.chosen(running("a", "2")) }, want: []string{"a"}},
		"it left the selector and is proven gone": {edit: func(w *world) { w.chosen(); w.d.Roster.Members[2].Absent = "gone" }},
		"its evidence is another kind in flight":  {edit: func(w *world) { w.pods().Kind = GracePeriod }, want: []string{"a", "a"}},
		"a node of its name and UID":              {edit: func(w *world) { w.pods().Members[0].Pod = nil }, want: []string{"a", "a"}},
		"the whole party is gone in flight":       {edit: func(w *world) { w.d.Parties = w.d.Parties[1:] }, want: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := podWorld(t, TLSProbe, running("a", "1"))
			w.request("test")
			w.settle()
			if w.d.Signer.Next == nil || len(w.d.Roster.Members) != 3 || !w.d.Roster.Members[2].Pod {
				t.Fatalf("a rotation began without its roster: %+v", w.d.Roster)
			}
			if tt.atRest {
				for range 5 {
					w.loadPods()
					w.reload("client-a", "client-b")
					w.settle()
				}
				if stage := w.assess().Stage; stage != Stable {
					t.Fatalf("stage %s", stage)
				}
			}
			tt.edit(w)
			a := decide(&w.d, w.now)
			var got []string
			for p, m := range each(a.parties) {
				if p.Name == "server" && !a.idle[m] {
					got = append(got, m.Name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("who counts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRosterOfPods: at rest pods come and go without a record. They are recorded before a key is made, and during
// a rotation. No write of the roster makes another one due.
func TestRosterOfPods(t *testing.T) {
	w := podWorld(t, TLSProbe, running("a", "1"))
	if diff := cmp.Diff([]string{w.pods().populatedName()}, w.d.Roster.Populated); diff != "" {
		t.Fatalf("populated (-want +got):\n%s", diff)
	}
	for i := range 5 {
		w.chosen(running("a", "1"), running("b", fmt.Sprint("b", i)))
		w.loadPods()
		if actions := w.assess().Actions; len(actions) > 0 {
			t.Fatalf("a pod that comes at rest causes %+v", actions)
		}
	}
	w.request("test")
	w.settle()
	if diff := cmp.Diff([]string{"GenerateNext signer", "PublishAnchors bundle"}, w.steps()); diff != "" {
		t.Fatalf("actions (-want +got):\n%s", diff)
	}
	recorded := func() (out []string) {
		for _, m := range w.d.Roster.Members {
			if m.Pod {
				out = append(out, m.Member+"/"+m.Instance)
			}
		}
		return out
	}
	if diff := cmp.Diff([]string{"a/1", "b/b4"}, recorded()); diff != "" {
		t.Fatalf("recorded (-want +got):\n%s", diff)
	}
	w.chosen(running("a", "1"), running("c", "3"), pending("d", "4"))
	if w.settle(); !slices.Equal(w.waitsFor(), []string{"a", "b", "c"}) {
		t.Errorf("it waits for %q", w.waitsFor())
	}
	w.d.Absences = map[string]string{"server/b/b4": "there is no pod b"}
	w.settle()
	if diff := cmp.Diff([]string{"a/1", "c/3", "d/4"}, recorded()); diff != "" {
		t.Errorf("recorded after the proof that b is gone (-want +got):\n%s", diff)
	}
	w.d.Absences = nil
	if w.settle(); !slices.Equal(w.waitsFor(), []string{"a", "c"}) {
		t.Errorf("the proof is forgotten: it waits for %q", w.waitsFor())
	}
}

// TestKeyWaitsForTheRosterOfPods: pods that change at each look delay a rotation only as long as they change.
func TestKeyWaitsForTheRosterOfPods(t *testing.T) {
	w := podWorld(t, TLSProbe, running("a", "1"))
	w.request("test")
	for i := range 3 {
		w.chosen(running("a", fmt.Sprint("new", i)))
		actions := w.assess().Actions
		if len(actions) != 1 || actions[0].Kind != RecordRoster {
			t.Fatalf("actions %+v, want the roster", actions)
		}
		w.perform(&actions[0])
	}
	if actions := w.assess().Actions; len(actions) != 1 || actions[0].Kind != GenerateNext {
		t.Errorf("then %+v, want the key", actions)
	}
}

func TestRestartEndsEvidence(t *testing.T) {
	for _, kind := range []EvidenceKind{TLSProbe, Acknowledgement} {
		t.Run(string(kind), func(t *testing.T) {
			w := podWorld(t, kind, running("a", "1"))
			w.request("test")
			w.settle()
			w.loadPods()
			if got := w.waitsFor(); len(got) > 0 {
				t.Fatalf("it waits for %q, which has loaded everything", got)
			}
			m := &w.pods().Members[0]
			m.Pod.Process, m.RestartedAt = "1/2", w.now.Add(1)
			if got := w.waitsFor(); !slices.Equal(got, []string{"a"}) {
				t.Errorf("the evidence of a process that was replaced counts: it waits for %q", got)
			}
			// The API gives start times in whole seconds.
			w.now = w.now.Add(2 * time.Second)
			w.loadPods()
			if got := w.waitsFor(); len(got) > 0 {
				t.Errorf("it waits for %q, which was observed after its restart", got)
			}
		})
	}
}

func TestBlockersOfPodsSayWhy(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(w *world)
		want string
	}{
		"terminating": {func(w *world) { w.pods().Members[0].Pod.Terminating = true }, "it is terminating, and counts until it is gone"},
		"crashing": {func(w *world) {
			*w.pods().Members[0].Pod = Pod{Started: true, Trouble: "its container web is in CrashLoopBackOff"}
		}, "runs no container at the moment; its container web is in CrashLoopBackOff"},
		"restarted":        {func(w *world) { w.pods().Members[0].Pod.Process = "1/2" }, "was restarted after it was last observed"},
		"left the party":   {func(w *world) { w.chosen() }, "or delete the pod, so that it is proven to be gone"},
		"behind":           {func(*world) {}, "has not loaded"},
		"no address":       {func(w *world) { w.unreachable("none of its containers has a port named https") }, "cannot be observed: none of its containers has a port named https"},
		"not permitted":    {func(w *world) { w.pods().Members, w.pods().Unlisted = nil, true }, "may not list and watch pods here"},
		"a waiver is over": {func(w *world) { w.d.Waivers = []Waiver{{Party: "server", Member: "a", Expires: w.now}} }, "has not loaded"},
	} {
		t.Run(name, func(t *testing.T) {
			w := podWorld(t, TLSProbe, running("a", "1"))
			w.request("test")
			w.settle()
			tt.edit(w)
			blockers := w.assess().Blockers
			if !slices.ContainsFunc(blockers, func(b Blocker) bool { return b.Party == "server" && strings.Contains(b.Message, tt.want) }) {
				t.Errorf("blockers %+v, want one with %q", blockers, tt.want)
			}
		})
	}
}

// unreachable makes the pod lack an address, and records the reason as the failure of its probe.
func (w *world) unreachable(why string) {
	m := &w.pods().Members[0]
	m.Probes[0].Address, m.Probes[0].Unknown = "", why
	o := w.observation(TLSProbe, m)
	o.Instance, o.Failure = m.Pod.Process, why
	m.Observations = []Observation{o}
}

// TestScaledToZero: an empty selector that has chosen a pod before blocks nothing. One that never has may be
// wrong.
func TestScaledToZero(t *testing.T) {
	ends := func(w *world) (*Assessment, error) {
		w.request("test")
		for range 5 {
			w.settle()
			w.reload("client-a", "client-b")
		}
		a := w.settle()
		if a.Stage != Stable || !slices.Contains(w.steps(), "DestroyPrevious signer") {
			return a, fmt.Errorf("stage %s, done %q, blockers %+v", a.Stage, w.steps(), a.Blockers)
		}
		return a, nil
	}
	t.Run("populated once", func(t *testing.T) {
		w := podWorld(t, TLSProbe, running("a", "1"))
		w.chosen()
		if _, err := ends(w); err != nil {
			t.Error(err)
		}
	})
	for name, edit := range map[string]func(w *world){
		"never populated":             func(w *world) { w.d.Roster.Populated = nil },
		"another selector since":      func(w *world) { w.pods().Selector = "app=sevrer" },
		"populated is another party":  func(w *world) { w.d.Roster.Populated = []string{"clients"} },
		"a party of the same name":    func(w *world) { w.d.Roster.Populated = []string{"server"} },
		"no roster says who was seen": func(w *world) { w.d.Roster = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := podWorld(t, TLSProbe, running("a", "1"))
			w.chosen()
			edit(w)
			a, err := ends(w)
			if err == nil {
				t.Fatal("the rotation went through")
			}
			if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool {
				return b.Reason == ReasonNoVerifier && strings.Contains(b.Message, "relying party server would, but its selector has never chosen a pod")
			}) {
				t.Errorf("nobody is told why: %+v", a.Blockers)
			}
		})
	}
	t.Run("only pods that never started", func(t *testing.T) {
		w := podWorld(t, TLSProbe, running("a", "1"))
		w.chosen(pending("b", "2"))
		if _, err := ends(w); err != nil {
			t.Error(err)
		}
	})
}

// TestUnlistedPodsStandAgainstEverything: unlisted pods may exist, so they block a rotation.
func TestUnlistedPodsStandAgainstEverything(t *testing.T) {
	for name, unlisted := range map[string]func(p *Party){
		"and nobody is known":      func(p *Party) { p.Members, p.Unlisted = nil, true },
		"and some are known":       func(p *Party) { p.Unlisted = true },
		"of a party that presents": func(p *Party) { p.Members, p.Unlisted, p.Verifies, p.VerifiesNothing = nil, true, nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			w := podWorld(t, TLSProbe, running("a", "1"))
			if unlisted(w.pods()); w.pods().VerifiesNothing {
				w.d.Parties[1].Verifies = []string{"server", "client-a", "client-b"}
				w.reload("client-a")
			}
			w.request("test")
			for range 5 {
				w.settle()
				w.loadPods()
				w.reload("client-a", "client-b")
			}
			if a := w.assess(); a.Stage == Stable || !a.Blocked() || slices.Contains(w.steps(), "RetireAnchors bundle") {
				t.Errorf("stage %s, done %q", a.Stage, w.steps())
			}
		})
	}
}

func TestPodThatTwoPartiesChoose(t *testing.T) {
	for name, tt := range map[string]struct {
		second func(p *Party)
		want   []string
	}{
		"the same leaf":                 {func(*Party) {}, []string{"Pod/a"}},
		"one of their leaves":           {func(p *Party) { p.Verifies = []string{"client-b"} }, []string{"Pod/a"}},
		"another kind of evidence":      {func(p *Party) { p.Kind, p.Members[0].Probes, p.Members[1].Probes = Acknowledgement, nil, nil }, []string{"Pod/a"}},
		"what the same pods began with": {func(p *Party) { p.Kind, p.Members[0].Probes, p.Members[1].Probes = WorkloadRollout, nil, nil }, nil},
		"what the same pods mount":      {func(p *Party) { p.Kind, p.Members[0].Probes, p.Members[1].Probes = Mounted, nil, nil }, nil},
		"what others began with": {func(p *Party) {
			p.Kind, p.Selector, p.Members[0].Probes, p.Members[1].Probes = WorkloadRollout, "app=other", nil, nil
		}, []string{"Pod/a"}},
		"different leaves":              {func(p *Party) { p.Verifies = []string{"server"} }, nil},
		"verifies nothing":              {func(p *Party) { p.Verifies, p.VerifiesNothing = nil, true }, nil},
		"different pods of these names": {func(p *Party) { p.Members[0].Instance, p.Members[1].Instance = "3", "4" }, nil},
		"nodes":                         {func(p *Party) { p.Members[0].Pod, p.Members[1].Pod = nil, nil }, nil},
		"at another port each": {func(p *Party) {
			p.Members[0].Probes, p.Members[1].Probes = []Probe{{Address: "a:444"}}, []Probe{{Address: "b:444"}}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := podWorld(t, TLSProbe, running("a", "1"), running("b", "2"))
			second := *w.pods()
			second.Name, second.Members = "second", slices.Clone(second.Members)
			tt.second(&second)
			w.d.Parties = append(w.d.Parties, second)
			var got []string
			for _, p := range w.assess().Problems {
				if p.Reason != ReasonChosenTwice || p.blocks() {
					t.Errorf("problem %+v", p)
				}
				for _, says := range []string{"relying party server", "of second", "1 more pods"} {
					if !strings.Contains(p.Message, says) {
						t.Errorf("%q does not say %q", p.Message, says)
					}
				}
				got = append(got, p.Object)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
