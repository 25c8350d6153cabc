// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/quorum"
)

func TestWhichNodeIsNext(t *testing.T) {
	failedAt := func(s *State, node string, revision, attempt int, ago time.Duration) {
		s.Installers = append(s.Installers, Installer{Name: "i", Node: node, NodeUID: "uid-" + node, Revision: revision, Attempt: attempt,
			Finished: true, Started: true, FinishedAt: s.Now.Add(-ago), Created: s.Now.Add(-ago), Message: "no"})
	}
	// restarted makes a cluster of two whose m0 restarted the given time ago. It is not Ready because m1 is
	// missing.
	restarted := func(s *State, ago time.Duration) {
		since := noon.Add(-ago)
		s.Record = &Status{Nodes: []NodeStatus{{Name: "m0", UID: "uid-m0", TargetRevision: 2, TargetRestarts: true, TargetSince: &since}}}
		s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Restarts: true, Started: true, Finished: true, Succeeded: true,
			Created: since, FinishedAt: since}}
		s.Nodes[0].Pod.RestartHash, s.Nodes[0].Pod.Ready = "r2", false
		s.Nodes[1].UID, s.Nodes[1].Pod = "other", nil
		s.Quorum.Observation = &quorum.Observation{Confirmed: true, Voters: []uint64{1, 2}, Members: []quorum.Member{
			{Node: "m0", MemberID: 1, Voter: true, Answers: true}, {Node: "m1", MemberID: 2, Voter: true},
		}}
	}
	for name, c := range map[string]struct {
		restart  bool
		nodes    int
		change   func(*State)
		started  []string
		blockers []string
	}{
		"restart": {restart: true, nodes: 3, change: func(*State) {}, started: []string{"m0 2 restarts=true attempt=0"}},
		"leaves":  {nodes: 3, change: func(*State) {}, started: []string{"m0 2 restarts=false attempt=0"}},
		"quorum says no although every pod is ready": {restart: true, nodes: 3, change: func(s *State) {
			s.Quorum.Observation = observed(s, "m2")
		}, blockers: []string{"m0 QuorumNotSafe"}},
		"a pod is not ready although the quorum says yes": {restart: true, nodes: 3, change: func(s *State) {
			s.Nodes[2].Pod.Ready = false
			s.Revisions[1].Installed["m2"] = "uid-m2"
			s.Nodes[2].Pod.RestartHash = "r2"
		}, blockers: []string{"m0 OtherNodeNotWell"}},
		"the members cannot be asked": {restart: true, nodes: 3, change: func(s *State) {
			s.Quorum.Observation, s.Quorum.Failure = nil, "no certificate"
		}, blockers: []string{"m0 QuorumNotSafe"}},
		"leaves need no quorum": {nodes: 3, change: func(s *State) {
			s.Quorum.Observation = observed(s, "m1", "m2")
		}, started: []string{"m0 2 restarts=false attempt=0"}},
		"the broken node comes first": {restart: true, nodes: 3, change: func(s *State) {
			s.Nodes[2].Pod.Ready = false
			s.Quorum.Observation = observed(s, "m2")
		}, started: []string{"m2 2 restarts=true attempt=0"}},
		"a broken node is not repaired where the others have no quorum": {restart: true, nodes: 3, change: func(s *State) {
			s.Nodes[1].Pod.Ready, s.Nodes[2].Pod.Ready = false, false
			s.Quorum.Observation = observed(s, "m1", "m2")
		}, blockers: []string{"m1 QuorumNotSafe", "m2 QuorumNotSafe"}},
		"nobody overtakes a restart whose installer was lost": {restart: true, nodes: 3, change: func(s *State) {
			s.Record = &Status{Nodes: []NodeStatus{{Name: "m2", UID: "uid-m2", TargetRevision: 2, TargetRestarts: true}}}
		}, started: []string{"m2 2 restarts=true attempt=0"}},
		"nobody overtakes a restart whose node is not ready": {restart: true, nodes: 3, change: func(s *State) {
			s.Record = &Status{Nodes: []NodeStatus{{Name: "m2", UID: "uid-m2", TargetRevision: 2, TargetRestarts: true}}}
			s.Nodes[2].Ready = false
		}, blockers: []string{"m2 NodeNotReady"}},
		"a broken node is repaired before a restart that was begun and came to nothing": {restart: true, nodes: 3, change: func(s *State) {
			since := noon.Add(-time.Hour)
			s.Record = &Status{Nodes: []NodeStatus{{Name: "m0", UID: "uid-m0", TargetRevision: 2, TargetRestarts: true, TargetSince: &since}}}
			s.Nodes[2].Pod.Ready = false
			s.Quorum.Observation = observed(s, "m2")
		}, started: []string{"m2 2 restarts=true attempt=0"}, blockers: []string{"m0 QuorumNotSafe"}},
		"but not while it may still come to something": {restart: true, nodes: 3, change: func(s *State) {
			since := noon.Add(-time.Minute)
			s.Record = &Status{Nodes: []NodeStatus{{Name: "m0", UID: "uid-m0", TargetRevision: 2, TargetRestarts: true, TargetSince: &since}}}
			s.Nodes[2].Pod.Ready = false
			s.Quorum.Observation = observed(s, "m2")
		}, blockers: []string{"m0 QuorumNotSafe", "m2 OtherNodeNotWell"}},
		"nor while an installer is about to restart another node": {restart: true, nodes: 3, change: func(s *State) {
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Image: "x", Restarts: true, Started: true, Created: noon}}
			s.Nodes[2].Pod.Ready = false
			s.Quorum.Observation = observed(s, "m2")
		}, blockers: []string{"m0 InstallerPodPending"}},
		"nor while one brings another node its leaves": {restart: true, nodes: 3, change: func(s *State) {
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Image: "x", Started: true, Created: noon}}
			s.Nodes[2].Pod.Ready = false
			s.Quorum.Observation = observed(s, "m2")
		}, blockers: []string{"m0 InstallerPodPending"}},
		"nor when it has, and the restart has not been seen": {restart: true, nodes: 3, change: func(s *State) {
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Restarts: true, Started: true, Finished: true, Succeeded: true,
				Created: noon, FinishedAt: noon}}
			s.Nodes[2].Pod.Ready = false
			s.Quorum.Observation = observed(s, "m2")
		}, blockers: []string{"m0 MissingStaticPod", "m0 StaticPodPending"}},
		"a node that joins waits for a restart": {restart: true, nodes: 3, change: func(s *State) {
			s.Nodes[2].Pod = nil
			delete(s.Revisions[0].Installed, "m2")
			s.Quorum.Observation = observed(s, "m2")
			s.Nodes[0].Pod = &StaticPod{Revision: 2, RestartHash: "r2", Phase: "Running"}
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Restarts: true, Finished: true, Succeeded: true, FinishedAt: noon}}
		}, blockers: []string{"m0 StaticPodPending"}},
		"leaves overtake a node that is down": {nodes: 3, change: func(s *State) {
			s.Nodes[0].Ready = false
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Created: noon, Image: "x"}}
		}, started: []string{"m1 2 restarts=false attempt=0"}, blockers: []string{"m0 InstallerPodPending"}},
		"leaves are one at a time": {nodes: 3, change: func(s *State) {
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Created: noon, Image: "x"}}
		}, blockers: []string{"m0 InstallerPodPending"}},
		"a failure is tried again after a while": {restart: true, nodes: 3, change: func(s *State) {
			failedAt(s, "m1", 2, 0, 9*time.Second)
		}, blockers: []string{"m1 InstallerPodFailed"}},
		"with another number": {restart: true, nodes: 3, change: func(s *State) {
			failedAt(s, "m1", 2, 0, 11*time.Second)
		}, started: []string{"m1 2 restarts=true attempt=1"}},
		"ten minutes later at most": {restart: true, nodes: 3, change: func(s *State) {
			failedAt(s, "m1", 2, 40, 601*time.Second)
		}, started: []string{"m1 2 restarts=true attempt=41"}},
		"a newer revision is tried at once": {restart: true, nodes: 3, change: func(s *State) {
			failedAt(s, "m1", 1, 3, time.Second)
			delete(s.Revisions[0].Installed, "m1")
		}, started: []string{"m1 2 restarts=true attempt=0"}},
		"a node that was made anew has nothing": {nodes: 3, change: func(s *State) {
			s.Nodes[1].UID, s.Nodes[1].Pod = "other", nil
			s.Quorum.Observation = observed(s, "m1")
			s.Revisions[1].Installed = map[string]string{"m0": "uid-m0", "m1": "uid-m1", "m2": "uid-m2"}
		}, started: []string{"m1 2 restarts=true attempt=0"}},
		"a node whose leaves are not in the revision holds up nobody": {restart: true, nodes: 3, change: func(s *State) {
			s.Revisions[1].Lacks = map[string][]string{"m0": {"secret x key y"}}
		}, started: []string{"m1 2 restarts=true attempt=0"}, blockers: []string{"m0 RequiredInstallerResourcesMissing"}},
		"a node that may have none of the leaves holds up nobody": {restart: true, nodes: 3, change: func(s *State) {
			s.Nodes[0].Unfit = "no leaf is for it"
		}, started: []string{"m1 2 restarts=true attempt=0"}, blockers: []string{"m0 RequiredInstallerResourcesMissing"}},
		"nobody restarts for what is about to be replaced": {restart: true, nodes: 3, change: func(s *State) {
			s.Source = Source{ContentHash: "c3", RestartHash: "r3", Since: noon, Differs: noon}
		}, blockers: []string{" SourceChanging"}},
		"two members": {restart: true, nodes: 2, change: func(*State) {}, started: []string{"m0 2 restarts=true attempt=0"}},
		"one member":  {restart: true, nodes: 1, change: func(*State) {}, started: []string{"m0 2 restarts=true attempt=0"}},
		"two members, one broken: it comes first": {restart: true, nodes: 2, change: func(s *State) {
			s.Nodes[1].Pod.Ready, s.Nodes[1].Pod.Changed = false, noon
			s.Quorum.Observation = &quorum.Observation{Confirmed: true, Voters: []uint64{1, 2}, Members: []quorum.Member{
				{Node: "m0", MemberID: 1, Voter: true, Answers: true}, {Node: "m1", MemberID: 2, Voter: true},
			}}
		}, started: []string{"m1 2 restarts=true attempt=0"}},
		"two members, one made anew while a restart of the other came to nothing": {restart: true, nodes: 2, change: func(s *State) {
			since := noon.Add(-time.Hour)
			s.Record = &Status{Nodes: []NodeStatus{{Name: "m0", UID: "uid-m0", TargetRevision: 2, TargetRestarts: true, TargetSince: &since}}}
			s.Nodes[0].Pod.Ready, s.Nodes[1].Pod.Ready = false, false
			s.Quorum.Observation = &quorum.Observation{Confirmed: true, Voters: []uint64{1, 2}, Members: []quorum.Member{
				{Node: "m0", MemberID: 1, Voter: true, Answers: true}, {Node: "m1", MemberID: 2, Voter: true},
			}}
		}, started: []string{"m1 2 restarts=true attempt=0"}, blockers: []string{"m0 QuorumNotSafe"}},
		"two members, one made anew when the other had just restarted": {restart: true, nodes: 2, change: func(s *State) {
			restarted(s, time.Hour)
		}, started: []string{"m1 2 restarts=true attempt=0"}, blockers: []string{"m0 StaticPodPending"}},
		"but not while that may still get ready": {restart: true, nodes: 2, change: func(s *State) {
			restarted(s, time.Minute)
		}, blockers: []string{"m0 StaticPodPending"}},
		"a deleted node gets nothing": {restart: true, nodes: 1, change: func(s *State) { s.Nodes[0].Deleted = true }},
		"no quorum configured, another pod not ready": {restart: true, nodes: 3, change: func(s *State) {
			s.Quorum = Quorum{}
			s.Nodes[0].Pod.Ready, s.Nodes[1].Pod.Ready = false, false
		}, blockers: []string{"m0 OtherNodeNotWell", "m1 OtherNodeNotWell"}},
		"nothing ran ever: they are started one after the other without waiting": {restart: true, nodes: 3, change: func(s *State) {
			s.Revisions[0].Installed = nil
			for i := range s.Nodes {
				s.Nodes[i].Pod = nil
			}
			s.Nodes[0].Pod = &StaticPod{Revision: 2, RestartHash: "r2", Phase: "Running"}
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Restarts: true, Finished: true, Succeeded: true, FinishedAt: noon}}
			s.Quorum.Observation = &quorum.Observation{Members: []quorum.Member{{Node: "m0", MemberID: 1, Answers: true}, {Node: "m1"}, {Node: "m2"}}}
		}, started: []string{"m1 2 restarts=true attempt=0"}, blockers: []string{"m0 StaticPodPending"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(c.nodes, c.restart)
			c.change(s)
			a := Assess(s)
			if diff := cmp.Diff(c.started, started(a)); diff != "" {
				t.Errorf("started (-want +got):\n%s%v", diff, reasons(a))
			}
			if diff := cmp.Diff(c.blockers, reasons(a)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuorumIsAskedOnlyIfItMatters(t *testing.T) {
	for name, restart := range map[string]bool{"restart": true, "leaves": false} {
		s := healthy(3, restart)
		s.Quorum.Observation = nil
		if a := Assess(s); a.NeedsQuorum != restart || restart && len(started(a)) > 0 {
			t.Errorf("%s: needs quorum %t, started %v", name, a.NeedsQuorum, started(a))
		}
	}
}

func TestWhatInstallersHaveWritten(t *testing.T) {
	written := func(restarts bool) Installer {
		return Installer{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Restarts: restarts, Started: true, Finished: true, Succeeded: true,
			Created: noon.Add(-time.Minute), FinishedAt: noon.Add(-time.Minute)}
	}
	for name, c := range map[string]struct {
		restart  bool
		change   func(*State)
		kinds    []string
		blockers []string
	}{
		"leaves are recorded at once": {
			change: func(s *State) { s.Nodes[0].Pod.Ready = false },
			kinds:  []string{"MarkInstalled m0 2"},
		},
		"kubelet has not seen it": {restart: true, change: func(*State) {}, blockers: []string{"m0 MissingStaticPod", "m0 StaticPodPending"}},
		"it is not ready": {restart: true, change: func(s *State) {
			s.Nodes[0].Pod.RestartHash, s.Nodes[0].Pod.Ready = "r2", false
		}, blockers: []string{"m0 StaticPodPending"}},
		"it does not take part": {restart: true, change: func(s *State) {
			s.Nodes[0].Pod.RestartHash = "r2"
			s.Quorum.Observation = observed(s, "m0")
		}, blockers: []string{"m0 MemberNotRejoined"}},
		"it takes part": {restart: true, change: func(s *State) {
			s.Nodes[0].Pod.RestartHash = "r2"
		}, kinds: []string{"MarkInstalled m0 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(1, c.restart)
			s.Installers = []Installer{written(c.restart)}
			c.change(s)
			a := Assess(s)
			if diff := cmp.Diff(c.kinds, kinds(a)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.blockers, reasons(a)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstallersThatAreNotWanted(t *testing.T) {
	pending := Installer{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 1, Image: "x", Created: noon}
	for name, c := range map[string]struct {
		change func(*Installer)
		want   []string
	}{
		"superseded before it began": {change: func(*Installer) {}, want: []string{"DeleteInstallerPod m0 1"}},
		"superseded while it runs":   {change: func(p *Installer) { p.Started = true }},
		"another image":              {change: func(p *Installer) { p.Revision, p.Image = 2, "y" }, want: []string{"DeleteInstallerPod m0 2"}},
		"of a node that was replaced": {change: func(p *Installer) { p.NodeUID = "old" },
			want: []string{"DeleteInstallerPod m0 1", "RunInstaller m0 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(1, false)
			s.Installers = []Installer{pending}
			c.change(&s.Installers[0])
			if diff := cmp.Diff(c.want, kinds(Assess(s))); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}
