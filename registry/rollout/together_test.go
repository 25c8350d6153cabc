// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// of returns a static pod of a revision. It became Ready, or not Ready, the given minutes before noon.
func of(revision int, hash string, ready bool, minutes int) *StaticPod {
	return &StaticPod{Revision: revision, RestartHash: hash, Phase: "Running", Ready: ready, Changed: noon.Add(-time.Duration(minutes) * time.Minute)}
}

func TestTogether(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	for _, test := range []struct {
		name            string
		etcd, companion *StaticPod
		want            *StaticPod
	}{
		{"none", nil, nil, nil},
		{"both", of(3, "r", true, 9), of(3, "r", true, 5), &StaticPod{Revision: 3, RestartHash: "r", Phase: "Running", Ready: true, Changed: at(5)}},
		{"the companion is not ready", of(3, "r", true, 9), of(3, "r", false, 5),
			&StaticPod{Revision: 3, RestartHash: "r", Phase: "Running", Changed: at(5), Trouble: "kube-apiserver: it is Running"}},
		{"neither is ready", of(3, "r", false, 9), of(3, "r", false, 5),
			&StaticPod{Revision: 3, RestartHash: "r", Phase: "Running", Changed: at(9), Trouble: "etcd: it is Running; kube-apiserver: it is Running"}},
		{"no companion", of(3, "r", true, 9), nil,
			&StaticPod{Phase: "Pending", Changed: at(9), Discord: "etcd of revision 3, no kube-apiserver"}},
		{"the companion alone", nil, of(3, "r", true, 9), &StaticPod{Phase: "Pending", Changed: at(9), Discord: "no etcd, kube-apiserver of revision 3"}},
		{"no companion yet", of(3, "old", true, 9), nil,
			&StaticPod{Phase: "Running", Ready: true, Changed: at(9), Discord: "etcd of revision 3, no kube-apiserver"}},
		{"the companion is behind", of(4, "s", true, 9), of(3, "r", true, 5),
			&StaticPod{Phase: "Running", Ready: true, Changed: at(5), Discord: "etcd of revision 4, kube-apiserver of revision 3"}},
		{"directories of two revisions", of(4, "r", true, 9), of(3, "r", true, 5),
			&StaticPod{Phase: "Running", Ready: true, Changed: at(5), Discord: "etcd of revision 4, kube-apiserver of revision 3"}},
		{"a companion of somebody else", of(4, "r", true, 9), of(0, "", true, 5),
			&StaticPod{Phase: "Running", Ready: true, Changed: at(5), Discord: "etcd of revision 4, kube-apiserver of no known revision"}},
		{"both of somebody else", of(0, "", true, 9), of(0, "", true, 5),
			&StaticPod{Phase: "Running", Ready: true, Changed: at(5), Discord: "etcd of no known revision, kube-apiserver of no known revision"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &Node{Pod: test.etcd, Companions: []Companion{{Name: "kube-apiserver", Pod: test.companion}}}
			if diff := cmp.Diff(test.want, n.together("etcd", "r")); diff != "" {
				t.Errorf("together (-want +got):\n%s", diff)
			}
		})
	}
}

// accompanied returns a healthy State whose nodes have a companion of the same revision as their static pod.
func accompanied(nodes int, restart bool) *State {
	s := healthy(nodes, restart)
	for i := range s.Nodes {
		like := *s.Nodes[i].Pod
		s.Nodes[i].Companions = []Companion{{Name: "kube-apiserver", Pod: &like}}
	}
	return s
}

// TestTurnOfANodeWithCompanions: the next node begins only when all static pods of the former one are done.
func TestTurnOfANodeWithCompanions(t *testing.T) {
	const minutes = 10
	for _, test := range []struct {
		name   string
		change func(s *State)
		// started are the nodes with an installer. marked are those recorded as installed.
		started, marked []string
		reason          string
		says            string
	}{
		{name: "a revision that restarts", change: func(*State) {}, started: []string{"m0"}},
		{name: "a companion that no node has yet", change: func(s *State) {
			for i := range s.Nodes {
				s.Nodes[i].Companions[0].Pod = nil
			}
		}, started: []string{"m0"}},
		{name: "a companion of another node is not ready", change: func(s *State) {
			s.Nodes[1].Companions[0].Pod.Ready = false
			s.Nodes[1].Companions[0].Pod.Trouble = "container kube-apiserver waits: CrashLoopBackOff"
			s.Nodes[1].Deleted = true
		}, reason: "m0 " + string(ReasonDegraded), says: "kube-apiserver: container kube-apiserver waits: CrashLoopBackOff"},
		{name: "the companion has not followed", change: func(s *State) {
			written(s, "m0")
			s.Nodes[0].Pod = of(2, "r2", true, 1)
		}, reason: "m0 " + string(ReasonStaticPodPending), says: "found etcd of revision 2, kube-apiserver of revision 1"},
		{name: "the companion is not ready yet", change: func(s *State) {
			written(s, "m0")
			s.Nodes[0].Pod, s.Nodes[0].Companions[0].Pod = of(2, "r2", true, 1), of(2, "r2", false, 1)
		}, reason: "m0 " + string(ReasonStaticPodPending), says: "the static pod of revision 2 is not ready: kube-apiserver: it is Running"},
		{name: "both are back", change: func(s *State) {
			written(s, "m0")
			s.Nodes[0].Pod, s.Nodes[0].Companions[0].Pod = of(2, "r2", true, 1), of(2, "r2", true, 1)
		}, marked: []string{"m0"}},
		{name: "somebody has overwritten a companion", change: func(s *State) {
			for i := range s.Nodes {
				name := s.Nodes[i].Name
				s.Nodes[i].Pod, s.Nodes[i].Companions[0].Pod = of(2, "r2", true, minutes), of(2, "r2", true, minutes)
				s.Revisions[1].Installed[name] = "uid-" + name
			}
			s.Nodes[2].Companions[0].Pod = of(0, "", true, 1)
		}, reason: "m2 " + string(ReasonRolledBack), says: "kube-apiserver of no known revision"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := accompanied(3, true)
			test.change(s)
			a := Assess(s)
			var started, marked []string
			for _, action := range a.Actions {
				switch action.Kind {
				case RunInstaller:
					started = append(started, action.Node)
				case MarkInstalled:
					marked = append(marked, action.Node)
				}
			}
			if !slices.Equal(started, test.started) || !slices.Equal(marked, test.marked) {
				t.Errorf("started %v, recorded %v, want %v, %v; waits for %v", started, marked, test.started, test.marked, reasons(a))
			}
			if test.reason != "" && !slices.ContainsFunc(a.Status.Blockers, func(b Blocker) bool {
				return b.Node+" "+string(b.Reason) == test.reason && strings.Contains(b.Message, test.says)
			}) {
				t.Errorf("no blocker %s with %q: %+v", test.reason, test.says, a.Status.Blockers)
			}
		})
	}
}

// written adds an installer of revision 2 that has succeeded on the node.
func written(s *State, node string) {
	s.Installers = append(s.Installers, Installer{
		Name: "installer-2-" + node, Node: node, NodeUID: "uid-" + node, Revision: 2, Restarts: true, Image: s.Limits.Image,
		Started: true, Finished: true, Succeeded: true, Created: noon.Add(-2 * time.Minute), FinishedAt: noon.Add(-time.Minute),
	})
}

// TestPruneKeepsTheRevisionsOfCompanions: a revision stays as long as a companion alone needs it.
func TestPruneKeepsTheRevisionsOfCompanions(t *testing.T) {
	s := accompanied(1, true)
	s.Limits.FailedRevisions, s.Limits.SucceededRevisions = 1, 1
	s.Nodes[0].Pod, s.Revisions[1].Installed["m0"] = of(2, "r2", true, 1), "uid-m0"
	for _, kept := range []bool{true, false} {
		if !kept {
			s.Nodes[0].Companions[0].Pod = of(2, "r2", true, 1)
		}
		pruned := slices.ContainsFunc(Assess(s).Actions, func(a Action) bool { return a.Kind == PruneNode })
		if pruned == kept {
			t.Errorf("the companion is of revision 1: %t; revision 1 is pruned: %t", kept, pruned)
		}
	}
}
