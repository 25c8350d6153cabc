// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"certrotation.dev/registry/quorum"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// healthy returns a State whose nodes run revision 1, with a complete revision 2. The restart hash of revision 2
// differs only if restart is set.
func healthy(nodes int, restart bool) *State {
	s := &State{
		Name: "etcd",
		Limits: Limits{
			Image: "x", Coalesce: 3 * time.Second, InstallerTimeout: 2 * time.Minute, StaticPodTimeout: 5 * time.Minute, Missing: 3 * time.Minute,
			FailedRevisions: 5, SucceededRevisions: 5,
		},
		Revisions: []Revision{
			{Number: 1, Ready: true, ContentHash: "c1", RestartHash: "r1", Installed: map[string]string{}},
			{Number: 2, Ready: true, ContentHash: "c2", RestartHash: "r1", Installed: map[string]string{}},
		},
		Source: Source{ContentHash: "c2", RestartHash: "r1"},
		Quorum: Quorum{Configured: true},
		Now:    noon,
	}
	if restart {
		s.Revisions[1].RestartHash, s.Source.RestartHash = "r2", "r2"
	}
	for i := range nodes {
		name := fmt.Sprintf("m%d", i)
		s.Nodes = append(s.Nodes, Node{
			Name: name, UID: "uid-" + name, Address: "10.0.0.1", Ready: true,
			Pod: &StaticPod{Revision: 1, RestartHash: "r1", Phase: "Running", Ready: true, Changed: noon.Add(-time.Hour)},
		})
		s.Revisions[0].Installed[name] = "uid-" + name
	}
	s.Quorum.Observation = observed(s)
	return s
}

// observed returns what an etcd client observes if only the members on the broken nodes are down.
func observed(s *State, broken ...string) *quorum.Observation {
	var (
		answers []quorum.Answer
		listed  []quorum.Listed
		alive   []uint64
	)
	down := map[string]bool{}
	for _, name := range broken {
		down[name] = true
	}
	for i := range s.Nodes {
		listed = append(listed, quorum.Listed{ID: uint64(i + 1), Name: s.Nodes[i].Name})
		if !down[s.Nodes[i].Name] {
			alive = append(alive, uint64(i+1))
		}
	}
	for i := range s.Nodes {
		a := quorum.Answer{Node: s.Nodes[i].Name, At: s.Now, Failure: "connection refused"}
		if !down[a.Node] {
			a = quorum.Answer{Node: a.Node, At: s.Now, MemberID: uint64(i + 1), ClusterID: 7, Healthy: true, Leader: alive[0],
				Connected: alive, Listed: listed, Confirmed: true}
		}
		answers = append(answers, a)
	}
	o := quorum.Observe(answers)
	return &o
}

// started returns the installers that an Assessment starts.
func started(a *Assessment) []string {
	var out []string
	for _, action := range a.Actions {
		if action.Kind == RunInstaller {
			out = append(out, fmt.Sprintf("%s %d restarts=%t attempt=%d", action.Node, action.Revision, action.Restarts, action.Attempt))
		}
	}
	return out
}

func kinds(a *Assessment) []string {
	var out []string
	for _, action := range a.Actions {
		out = append(out, fmt.Sprintf("%s %s %d", action.Kind, action.Node, action.Revision))
	}
	return out
}

// reasons returns the blockers of an Assessment.
func reasons(a *Assessment) []string {
	var out []string
	for _, b := range a.Status.Blockers {
		out = append(out, b.Node+" "+string(b.Reason))
	}
	return out
}
