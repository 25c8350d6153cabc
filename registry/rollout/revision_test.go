// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/quorum"
)

func TestWhenARevisionIsCut(t *testing.T) {
	for name, c := range map[string]struct {
		source Source
		more   []Revision
		want   []string
	}{
		"unchanged":        {source: Source{ContentHash: "c2", RestartHash: "r1"}},
		"has just changed": {source: Source{ContentHash: "c3", RestartHash: "r1", Since: noon, Differs: noon}},
		"has come to rest": {source: Source{ContentHash: "c3", RestartHash: "r1", Since: noon.Add(-3 * time.Second), Differs: noon.Add(-9 * time.Second)},
			want: []string{"CreateRevision  3"}},
		"does not come to rest": {source: Source{ContentHash: "c3", RestartHash: "r1", Since: noon, Differs: noon.Add(-15 * time.Second)},
			want: []string{"CreateRevision  3"}},
		"is not consistent": {source: Source{ContentHash: "c3", RestartHash: "r1", Waiting: "x", Since: noon.Add(-time.Minute), Differs: noon.Add(-time.Minute)}},
		"is not usable":     {source: Source{Problem: "empty"}},
		"was begun": {source: Source{ContentHash: "c3", RestartHash: "r1", Since: noon.Add(-time.Minute), Differs: noon.Add(-time.Minute)},
			more: []Revision{{Number: 7, ContentHash: "c3"}}, want: []string{"CompleteRevision  7"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(0, false)
			s.Source, s.Revisions = c.source, append(s.Revisions, c.more...)
			if diff := cmp.Diff(c.want, kinds(Assess(s))); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// quorate returns a State in which every node runs the latest revision, and the trust has changed and settled.
func quorate(nodes int) *State {
	s := healthy(nodes, false)
	for i := range s.Nodes {
		s.Revisions[1].Installed[s.Nodes[i].Name] = s.Nodes[i].UID
	}
	s.Source = Source{ContentHash: "c3", RestartHash: "r3", Since: noon.Add(-time.Minute), Differs: noon.Add(-time.Minute)}
	return s
}

func TestQuorumIsAskedBeforeARevisionIsCut(t *testing.T) {
	held := []string{" QuorumNotSafe"}
	cut := []string{"CreateRevision  3"}
	for name, c := range map[string]struct {
		nodes    int
		change   func(*State)
		want     []string
		blockers []string
		needs    bool
	}{
		"the members have a quorum":   {nodes: 3, change: func(*State) {}, want: cut},
		"nobody was asked yet":        {nodes: 3, change: func(s *State) { s.Quorum.Observation = nil }, needs: true},
		"one of three is down":        {nodes: 3, change: func(s *State) { s.Quorum.Observation = observed(s, "m2") }, want: cut},
		"two of three are down":       {nodes: 3, change: func(s *State) { s.Quorum.Observation = observed(s, "m1", "m2") }, blockers: held},
		"one of two is down":          {nodes: 2, change: func(s *State) { s.Quorum.Observation = observed(s, "m1") }, want: cut},
		"the only member is down":     {nodes: 1, change: func(s *State) { s.Quorum.Observation = observed(s, "m0") }, blockers: held},
		"interruptions are accepted":  {nodes: 1, change: func(s *State) { s.Quorum.Strategy, s.Quorum.Observation = "SingleNode", observed(s, "m0") }, want: cut},
		"no quorum is configured":     {nodes: 3, change: func(s *State) { s.Quorum = Quorum{} }, want: cut},
		"the members cannot be asked": {nodes: 3, change: func(s *State) { s.Quorum.Observation, s.Quorum.Failure = nil, "no certificate" }, blockers: held},
		"one that was begun is no other": {nodes: 3, change: func(s *State) {
			s.Revisions, s.Quorum.Observation = append(s.Revisions, Revision{Number: 3}), observed(s, "m1", "m2")
		}, blockers: held},
		"leaves restart nobody": {nodes: 3, change: func(s *State) {
			s.Source.RestartHash, s.Quorum.Observation = "r1", observed(s, "m1", "m2")
		}, want: cut},
		"a member that runs with this trust gets leaves": {nodes: 3, change: func(s *State) {
			s.Nodes[0].Pod.RestartHash, s.Quorum.Observation = "r3", observed(s, "m1", "m2")
		}, want: cut, blockers: []string{"m0 ManifestNotCurrent"}},
		"members that certrotation did not start": {nodes: 3, change: func(s *State) {
			s.Revisions = nil
			for i := range s.Nodes {
				s.Nodes[i].Pod.Revision, s.Nodes[i].Pod.RestartHash = 0, ""
			}
			s.Quorum.Observation = observed(s, "m1", "m2")
		}, blockers: held},
		"no member runs, and none ever did": {nodes: 3, change: func(s *State) {
			s.Revisions, s.Quorum.Observation = nil, nil
			for i := range s.Nodes {
				s.Nodes[i].Pod = nil
			}
		}, want: []string{"CreateRevision  1"}},
		"members that are started for the first time need each other": {nodes: 3, change: func(s *State) {
			s.Revisions = []Revision{{Number: 2, Ready: true, ContentHash: "c2", RestartHash: "r2", Lacks: map[string][]string{"m1": {"x"}, "m2": {"x"}}}}
			s.Nodes[0].Pod = &StaticPod{Revision: 2, RestartHash: "r2", Phase: "Running"}
			s.Nodes[1].Pod, s.Nodes[2].Pod = nil, nil
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 2, Restarts: true, Finished: true, Succeeded: true, FinishedAt: noon}}
			s.Quorum.Observation = &quorum.Observation{Members: []quorum.Member{{Node: "m0", MemberID: 1, Answers: true}, {Node: "m1"}, {Node: "m2"}}}
		}, want: cut, blockers: []string{"m0 StaticPodPending", "m1 RequiredInstallerResourcesMissing", "m2 RequiredInstallerResourcesMissing"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := quorate(c.nodes)
			c.change(s)
			a := Assess(s)
			if diff := cmp.Diff(c.want, kinds(a)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.blockers, reasons(a)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
			if a.NeedsQuorum != c.needs {
				t.Errorf("needs the quorum: %t", a.NeedsQuorum)
			}
		})
	}
}

func TestNumbersAreNotUsedTwice(t *testing.T) {
	s := healthy(1, false)
	s.Revisions, s.Nodes[0].Pod.Revision = nil, 9
	s.Source.Since, s.Source.Differs = noon.Add(-time.Minute), noon.Add(-time.Minute)
	if diff := cmp.Diff([]string{"CreateRevision  10"}, kinds(Assess(s))); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestProtected(t *testing.T) {
	many := func(nodes int) *State {
		s := healthy(nodes, false)
		s.Revisions = nil
		for n := 1; n <= 20; n++ {
			s.Revisions = append(s.Revisions, Revision{Number: n, Ready: true, ContentHash: string(rune('a' + n)), RestartHash: "r1", Installed: map[string]string{}})
		}
		for i := range s.Nodes {
			s.Revisions[19].Installed[s.Nodes[i].Name] = s.Nodes[i].UID
		}
		s.Source = Source{ContentHash: s.Revisions[19].ContentHash, RestartHash: "r1"}
		return s
	}
	for name, c := range map[string]struct {
		change func(*State)
		want   []int
	}{
		"all are there":  {change: func(*State) {}, want: []int{1, 16, 17, 18, 19, 20}},
		"limits":         {change: func(s *State) { s.Limits.SucceededRevisions = 2 }, want: []int{1, 19, 20}},
		"everything":     {change: func(s *State) { s.Limits.SucceededRevisions = -1 }, want: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
		"one is behind":  {change: func(s *State) { s.behind(10) }, want: []int{1, 6, 7, 8, 9, 10, 16, 17, 18, 19, 20}},
		"one has failed": {change: func(s *State) { s.behind(10); s.fails(13) }, want: []int{1, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20}},
		"one is on its way": {change: func(s *State) {
			s.behind(10)
			s.Limits.SucceededRevisions, s.Limits.FailedRevisions = 1, 2
			s.target(14)
		}, want: []int{1, 10, 13, 14, 19, 20}},
		"an installer has not ended": {change: func(s *State) {
			s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 7}}
		}, want: []int{1, 7, 16, 17, 18, 19, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			s := many(3)
			c.change(s)
			a := &assessor{state: s, latest: s.latest(), now: s.Now, out: &Assessment{}}
			a.members = a.observe()
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(a.protected()))); diff != "" {
				t.Errorf("protected (-want +got):\n%s", diff)
			}
		})
	}
}

// behind sets the revision of the first node.
func (s *State) behind(number int) {
	delete(s.Revisions[19].Installed, "m0")
	s.Revisions[number-1].Installed["m0"] = "uid-m0"
}

func (s *State) fails(number int) {
	s.Installers = append(s.Installers, Installer{Name: "f", Node: "m0", NodeUID: "uid-m0", Revision: number, Finished: true, FinishedAt: noon})
}

func (s *State) target(number int) {
	s.Record = &Status{Nodes: []NodeStatus{{Name: "m0", UID: "uid-m0", TargetRevision: number}}}
}

func TestPruneWaitsForTheNodesThatAreThere(t *testing.T) {
	s := healthy(2, false)
	s.Limits.FailedRevisions, s.Limits.SucceededRevisions = 1, 1
	s.Revisions = append([]Revision{{Number: 1, Ready: true, RestartHash: "r0"}}, s.Revisions...)
	for i := range s.Revisions {
		s.Revisions[i].Number = i + 1
	}
	for i := range s.Nodes {
		s.Nodes[i].Pod.Revision = 2
		s.Revisions[2].Installed[s.Nodes[i].Name] = s.Nodes[i].UID
	}
	if diff := cmp.Diff([]string{"PruneNode m0 1", "PruneNode m1 1"}, kinds(Assess(s))); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	s.Installers = []Installer{{Name: "i", Node: "m0", NodeUID: "uid-m0", Revision: 3, Image: "x", Created: noon}}
	if diff := cmp.Diff([]string{"PruneNode m1 1"}, kinds(Assess(s))); diff != "" {
		t.Errorf("actions while an installer works on m0 (-want +got):\n%s", diff)
	}
	s.Installers = nil
	s.Nodes[1].Ready = false
	s.Pruners = []Pruner{{Name: "p", Node: "m0", Eligible: 1, Finished: true, FinishedAt: noon}}
	if a := Assess(s); len(a.Actions) > 0 || !slices.Contains(reasons(a), "m0 PrunerPodFailed") {
		t.Errorf("actions %v, blockers %v", kinds(a), reasons(a))
	}
	s.Pruners[0].Succeeded = true
	if diff := cmp.Diff([]string{"DeleteRevision  1"}, kinds(Assess(s))); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}
