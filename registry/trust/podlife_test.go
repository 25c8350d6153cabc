// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPendingPodThatIsNotSeenAnyMoreCounts: a pod was pending when the roster was written, and has lost its label
// since. It may have started unobserved before the new anchor was published. So it counts until it is proven to be
// gone.
func TestPendingPodThatIsNotSeenAnyMoreCounts(t *testing.T) {
	w := bootstrapped(t)
	p := w.party("client-b")
	p.OfPods = true
	seen := Member{Name: "web-1", Instance: "uid-1", Pod: &Pod{Started: true, Process: "uid-1"}, Holds: []string{"client-b"}}
	pending := Member{Name: "web-2", Instance: "uid-2", Pod: &Pod{}, Holds: []string{"client-b"}}
	p.Members = []Member{seen, pending}
	w.request("test")
	w.settle()
	if at := slices.IndexFunc(w.d.Roster.Members, func(r RosterMember) bool { return r.Instance == "uid-2" }); at < 0 || w.d.Roster.Members[at].Started {
		t.Fatalf("roster %+v, want a pending web-2", w.d.Roster.Members)
	}
	waits := func() bool {
		return slices.ContainsFunc(w.assess().Blockers, func(b Blocker) bool { return b.Party == "client-b" && b.Member == "web-2" })
	}
	if waits() {
		t.Error("a pending pod that is seen is waited for")
	}
	p.Members = []Member{seen}
	if !waits() {
		t.Error("a pod that is not seen any more, and may have started, is not waited for")
	}
	w.d.Absences = map[string]string{"client-b/web-2/uid-2": "there is no pod web-2"}
	w.settle()
	if waits() {
		t.Error("a pod that is proven to be gone is waited for")
	}
}

// TestLapsedReportSilencesNobody: all containers of a pod report under its UID. One report by a clock that was
// ahead must not cause later reports to be refused forever.
func TestLapsedReportSilencesNobody(t *testing.T) {
	w := bootstrapped(t)
	m := w.member("client-a")
	ahead := w.observation(Acknowledgement, m)
	ahead.StartedAt, ahead.Expires = w.now.Add(48*time.Hour), w.now.Add(time.Hour)
	m.Observations = []Observation{ahead}
	report := w.observation(Acknowledgement, m)
	report.StartedAt = w.now
	if err := CheckAcknowledgement(&w.d, "client-a", m.Name, &report, w.now); err == nil {
		t.Error("a report of a former process is taken while that of its successor holds")
	}
	w.now = w.now.Add(2 * time.Hour)
	report.ObservedAt = w.now
	if err := CheckAcknowledgement(&w.d, "client-a", m.Name, &report, w.now); err != nil {
		t.Errorf("a report is refused because of one that has lapsed: %v", err)
	}
}

// TestLeafThatNoPodHasPresented: a party of pods presents a leaf, and its selector has never chosen a pod. The
// blocker says what to do.
func TestLeafThatNoPodHasPresented(t *testing.T) {
	w := podWorld(t, TLSProbe, running("a", "1"))
	p := w.pods()
	p.Verifies, p.VerifiesNothing = nil, true
	w.d.Parties[1].Verifies = []string{"server", "client-a", "client-b"}
	w.reload("client-a")
	w.chosen()
	w.d.Roster.Populated = nil
	w.request("test")
	for range 5 {
		w.settle()
		w.reload("client-a", "client-b")
	}
	a := w.assess()
	at := slices.IndexFunc(a.Blockers, func(b Blocker) bool { return b.Reason == ReasonNoHolder && b.Object == secret("server") })
	if a.Stage != Draining || at < 0 {
		t.Fatalf("stage %s, blockers %+v, want one that the leaf has no holder", a.Stage, a.Blockers)
	}
	if want := "relying party server would, but its selector has never chosen a pod"; !strings.Contains(a.Blockers[at].Message, want) {
		t.Errorf("%q does not say %q", a.Blockers[at].Message, want)
	}
	w.chosen(running("b", "2"))
	for range 5 {
		w.loadPods()
		w.reload("client-a", "client-b")
		w.settle()
	}
	if a := w.assess(); a.Stage != Stable {
		t.Errorf("a pod was started, and the stage is %s: %+v", a.Stage, a.Blockers)
	}
}
