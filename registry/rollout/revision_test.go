// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// behind has the first node at a revision.
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
