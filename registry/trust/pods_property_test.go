// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

// drawPods draws a domain with pods in any state, at any point of a rotation.
func drawPods(rt *rapid.T) *world {
	kind := rapid.SampledFrom([]EvidenceKind{TLSProbe, Acknowledgement}).Draw(rt, "kind")
	w := podWorld(rt, kind, drawMembers(rt, "first")...)
	if rapid.Bool().Draw(rt, "rotates") {
		w.request("test")
	}
	for range rapid.IntRange(0, 8).Draw(rt, "moves") {
		switch rapid.SampledFrom([]string{"step", "settle", "load", "clients", "churn", "unlisted"}).Draw(rt, "move") {
		case "step":
			w.step()
		case "settle":
			w.settle()
		case "load":
			w.loadPods(drawnNames(rt, w)...)
		case "clients":
			w.reload("client-a", "client-b")
		case "churn":
			w.chosen(drawMembers(rt, "churn")...)
		case "unlisted":
			w.pods().Unlisted = !w.pods().Unlisted
		}
	}
	return w
}

func drawMembers(rt *rapid.T, label string) []Member {
	var out []Member
	for i := range rapid.IntRange(0, 3).Draw(rt, label) {
		name := fmt.Sprint("pod-", i)
		m := running(name, name+rapid.SampledFrom([]string{"-x", "-y"}).Draw(rt, "uid"))
		switch rapid.SampledFrom([]PodLife{PodPending, PodRunning, PodTerminating}).Draw(rt, "life") {
		case PodPending:
			*m.Pod = Pod{}
		case PodTerminating:
			m.Pod.Terminating = true
		case PodRunning, PodEnded:
		}
		out = append(out, m)
	}
	return out
}

func drawnNames(rt *rapid.T, w *world) []string {
	names := []string{"nobody"}
	for _, m := range w.pods().Members {
		if rapid.Bool().Draw(rt, "loads "+m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// records performs only the pending writes of the roster.
func (w *world) records() {
	w.t.Helper()
	for range 3 {
		actions := w.assess().Actions
		if len(actions) != 1 || actions[0].Kind != RecordRoster {
			return
		}
		w.perform(&actions[0])
	}
	w.t.Fatalf("no end of records: %+v", w.d.Roster)
}

// TestOneOfManyCountsAsAmongThem: the view of one member equals its part of a full assessment.
func TestOneOfManyCountsAsAmongThem(t *testing.T) {
	says := func(p *Party, m *Member) string {
		return fmt.Sprint(p.Name, p.Kind, p.Verifies, p.recorded, p.unwatched, m.Name, m.Instance, m.Holds, m.Pod, len(m.Observations))
	}
	property.Check(t, func(rt *rapid.T) {
		w := drawPods(rt)
		if rapid.Bool().Draw(rt, "the party is not configured any more") {
			w.d.Parties = w.d.Parties[1:]
		}
		parties := decide(&w.d, w.now).parties
		for _, party := range []string{"server", "client-a", "nobody"} {
			for _, member := range []string{"pod-0", "pod-1", "client-a", "nobody"} {
				var want, got []string
				known := false
				for _, p := range parties {
					known = known || p.Name == party
				}
				for p, m := range each(parties) {
					if p.Name == party && m.Name == member {
						want = append(want, says(p, m))
					}
				}
				alone := newFacts(&w.d, w.now).countedAs(party, member)
				for p, m := range each(alone) {
					if m.Name == member {
						got = append(got, says(p, m))
					}
				}
				if !slices.Equal(got, want) || known != (len(alone) > 0) {
					rt.Fatalf("member %s of %s (known: %t): got %q of %d parties, want %q", member, party, known, got, len(alone), want)
				}
			}
		}
	})
}

// TestUnknownPodMakesNothingPossible: one more running pod, of which nothing is known, only ever blocks. An action
// that is newly proposed would have been admitted before: it only waited for a write that comes alone.
func TestUnknownPodMakesNothingPossible(t *testing.T) {
	property.Check(t, func(rt *rapid.T) {
		w := drawPods(rt)
		w.records()
		before := *w.clone()
		m := running("stranger", "stranger")
		m.Probes = probesOf(w.pods().Kind, &m)
		m.Pod.Terminating = rapid.Bool().Draw(rt, "terminating")
		w.pods().Members = append(slices.Clone(w.pods().Members), m)
		w.records()
		actions := w.assess().Actions
		for i := range actions {
			w.d = before
			w.d = *w.clone()
			was := w.clone()
			w.perform(&actions[i])
			if found := Judge(was, w.clone(), w.now); len(found) > 0 {
				rt.Fatalf("one more pod makes %s %s possible: %+v", actions[i].Kind, actions[i].Object, found)
			}
		}
	})
}

// TestPodThatIsGoneBlocksNothing: a pod that is proven to be gone is not waited for, and its absence blocks no
// other member.
func TestPodThatIsGoneBlocksNothing(t *testing.T) {
	property.Check(t, func(rt *rapid.T) {
		w := drawPods(rt)
		w.records()
		if len(w.pods().Members) == 0 {
			rt.Skip("no pod")
		}
		blockers := func() map[string]bool {
			out := map[string]bool{}
			for _, b := range w.assess().Blockers {
				out[fmt.Sprint(b.Party, "/", b.Member, " ", b.Object, " ", b.Reason)] = true
			}
			return out
		}
		before, stage := blockers(), w.assess().Stage
		gone := w.pods().Members[rapid.IntRange(0, len(w.pods().Members)-1).Draw(rt, "which")]
		w.pods().Members = slices.DeleteFunc(slices.Clone(w.pods().Members), func(m Member) bool { return m.Instance == gone.Instance })
		r := RosterMember{Party: "server", Member: gone.Name, Instance: gone.Instance}
		w.d.Absences = map[string]string{AbsenceKey(&r): AbsentPod(&r, "", "")}
		w.records()
		if w.assess().Stage != stage {
			return
		}
		for b := range blockers() {
			if !before[b] {
				rt.Fatalf("in the stage %s a pod that is gone adds the blocker %s", stage, b)
			}
		}
	})
}
