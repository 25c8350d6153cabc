// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// together judges the static pods of a node as one, because a revision restarts them together: what the others have to
// bear is that this node is away, and it is back when all of them are. They run a revision if each of them does, and are
// Ready if each of them is. It is nil if there is none of them. One that is missing counts against the node once another one
// runs with the latest restart hash: before that it may be one that no revision has brought yet, and nobody lacks it.
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

// join takes in another static pod: the node is as unready as the first of them, and Ready since the last of them was.
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

// commonHash is the restart hash with which each static pod of the node runs, "" if they differ, or if one is missing. Equal
// hashes in the manifests of two revisions are not enough: those have a pointer each, and only one of them is swapped.
func (n *Node) commonHash() string {
	pods := n.pods()
	if len(pods) <= len(n.Companions) || slices.ContainsFunc(pods, func(p *StaticPod) bool {
		return p.RestartHash != pods[0].RestartHash || p.Revision != pods[0].Revision
	}) {
		return ""
	}
	return pods[0].RestartHash
}

// pods are those that there are.
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
