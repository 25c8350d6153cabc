// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// together merges the static pods of a node into one, because a revision restarts them together. They run a revision
// if each of them does, and are Ready if each of them is. It returns nil if the node has none. A missing one counts
// against the node only once another one runs with the latest restart hash. Before that, maybe no revision has
// brought it yet.
func (n *Node) together(rollout, latest string) *StaticPod {
	if len(n.Companions) == 0 || len(n.pods()) == 0 {
		return n.Pod
	}
	out := StaticPod{Phase: "Running", Ready: true}
	var troubles, found []string
	missing := false
	for _, part := range append([]Companion{{Name: rollout, Pod: n.Pod}}, n.Companions...) {
		if part.Pod == nil {
			missing, found = true, append(found, "no "+part.Name)
			continue
		}
		found = append(found, part.Name+" of "+revisionOf(part.Pod))
		if !part.Pod.Ready {
			troubles = append(troubles, fmt.Sprintf("%s: %s", part.Name, trouble(part.Pod)))
		}
		out.join(part.Pod)
	}
	if missing && out.Ready && slices.ContainsFunc(n.pods(), func(p *StaticPod) bool { return p.RestartHash == latest }) {
		out.Ready, out.Phase = false, "Pending"
	}
	if out.RestartHash = n.commonHash(); out.RestartHash == "" {
		out.Revision, out.Discord = 0, strings.Join(found, ", ")
	}
	out.Trouble = strings.Join(troubles, "; ")
	return &out
}

// join merges another static pod: unready since the first unready one, Ready since the last Ready one.
func (s *StaticPod) join(p *StaticPod) {
	switch {
	case s.Ready == p.Ready && p.Ready && p.Changed.After(s.Changed), s.Ready == p.Ready && !p.Ready && p.Changed.Before(s.Changed):
		s.Changed = p.Changed
	case s.Ready && !p.Ready:
		s.Ready, s.Phase, s.Changed = false, p.Phase, p.Changed
	}
	if p.Started.After(s.Started) {
		s.Started = p.Started
	}
	s.Revision = max(s.Revision, p.Revision)
}

// commonHash is the restart hash of all static pods of the node, "" if they differ or one is missing. Their revisions
// must be equal too: each revision has its own pointer, and only one of these is swapped.
func (n *Node) commonHash() string {
	pods := n.pods()
	if len(pods) <= len(n.Companions) || slices.ContainsFunc(pods, func(p *StaticPod) bool {
		return p.RestartHash != pods[0].RestartHash || p.Revision != pods[0].Revision
	}) {
		return ""
	}
	return pods[0].RestartHash
}

func (n *Node) pods() []*StaticPod {
	var out []*StaticPod
	if n.Pod != nil {
		out = append(out, n.Pod)
	}
	for _, c := range n.Companions {
		if c.Pod != nil {
			out = append(out, c.Pod)
		}
	}
	return out
}
