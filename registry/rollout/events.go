// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
)

// Reasons of events, named as in library-go where it has them.
const (
	EventMasterNodeObserved         = "MasterNodeObserved"
	EventMasterNodeRemoved          = "MasterNodeRemoved"
	EventMasterNodesReadyChanged    = "MasterNodesReadyChanged"
	EventNodeTargetRevisionChanged  = "NodeTargetRevisionChanged"
	EventNodeCurrentRevisionChanged = "NodeCurrentRevisionChanged"
	EventInstallerPodFailed         = string(ReasonInstallerFailed)
	EventInstallerPodDisappeared    = "InstallerPodDisappeared"
	EventResourcesMissing           = string(ReasonResourcesMissing)
	EventMissingStaticPod           = string(ReasonMissingStaticPod)
	EventStartingNewRevision        = "StartingNewRevision"
	EventRevisionTriggered          = "RevisionTriggered"
	// EventConditionChanged is for a condition that shows a new fault, or the end of one.
	EventConditionChanged = "OperatorStatusChanged"
	// EventRolloutBlocked is for an overdue blocker.
	EventRolloutBlocked = "RolloutBlocked"
)

// Event is a change worth telling.
type Event struct {
	Reason  string
	Warning bool
	// Action tells events of one reason apart: a recorder merges events that differ only in their text.
	Action string
	Note   string
}

// Events returns the events between two successive Statuses of a rollout. before may be nil.
func Events(rollout string, before, after *Status) []Event {
	var out []Event
	say := func(warning bool, reason, action, format string, args ...any) {
		out = append(out, Event{Reason: reason, Warning: warning, Action: action, Note: fmt.Sprintf(format, args...)})
	}
	for i := range after.Nodes {
		n := &after.Nodes[i]
		was := before.Node(n.Name, n.UID)
		if was == nil {
			say(false, EventMasterNodeObserved, n.Name, "observed node %s (UID %s)", n.Name, n.UID)
			was = &NodeStatus{}
		}
		nodeEvents(was, n, say)
	}
	for i := range before.nodes() {
		if n := &before.Nodes[i]; after.Node(n.Name, n.UID) == nil {
			say(false, EventMasterNodeRemoved, n.Name, "node %s (UID %s) is gone", n.Name, n.UID)
		}
	}
	conditionEvents(before, after, say)
	blockerEvents(rollout, before, after, say)
	return out
}

type sayer = func(warning bool, reason, action, format string, args ...any)

func nodeEvents(was, n *NodeStatus, say sayer) {
	if n.TargetRevision != was.TargetRevision && n.TargetRevision != 0 {
		say(false, EventNodeTargetRevisionChanged, n.Name, "updating node %s from revision %d to %d", n.Name, n.CurrentRevision, n.TargetRevision)
	}
	if n.CurrentRevision != was.CurrentRevision && n.CurrentRevision != 0 {
		say(false, EventNodeCurrentRevisionChanged, n.Name, "node %s went from revision %d to %d", n.Name, was.CurrentRevision, n.CurrentRevision)
	}
	if f := n.LastFailed; f != nil && !f.same(was.LastFailed) {
		say(true, EventInstallerPodFailed, n.Name, "the installer of revision %d on node %s has failed, attempt %d: %s", f.Revision, n.Name, f.Count, f.Message)
	}
}

func conditionEvents(before, after *Status, say sayer) {
	for i := range after.Conditions {
		c := &after.Conditions[i]
		was := before.Condition(c.Type)
		changed := was == nil && c.Status || was != nil && was.Status != c.Status
		switch {
		case !changed || c.Type == StaticPodsAvailable && was == nil:
		case c.Type == NodeControllerDegraded:
			say(c.Status, EventMasterNodesReadyChanged, c.Type, "%s", c.Message)
		case strings.HasSuffix(c.Type, degradedSuffix) || c.Type == StaticPodsAvailable:
			bad := c.Status == strings.HasSuffix(c.Type, degradedSuffix)
			say(bad, EventConditionChanged, c.Type, "%s changed to %t: %s", c.Type, c.Status, c.Message)
		}
	}
}

// blockerEvents reports a blocker when it is overdue, and missing resources at once.
func blockerEvents(rollout string, before, after *Status, say sayer) {
	told := map[string]bool{}
	for i := range before.blockers() {
		b := &before.Blockers[i]
		told[string(b.Reason)+"/"+b.Node] = b.Overdue || b.Reason == ReasonResourcesMissing
	}
	for i := range after.Blockers {
		b := &after.Blockers[i]
		if told[string(b.Reason)+"/"+b.Node] {
			continue
		}
		switch {
		case b.Reason == ReasonResourcesMissing:
			say(true, EventResourcesMissing, string(b.Reason)+"/"+b.Node, "%s", b.Text(rollout))
		case b.Overdue && b.Reason == ReasonMissingStaticPod:
			say(true, EventMissingStaticPod, b.Node, "%s", b.Text(rollout))
		case b.Overdue:
			say(true, EventRolloutBlocked, string(b.Reason)+"/"+b.Node, "%s", b.Text(rollout))
		}
	}
}

func (s *Status) nodes() []NodeStatus {
	if s == nil {
		return nil
	}
	return s.Nodes
}

func (s *Status) blockers() []Blocker {
	if s == nil {
		return nil
	}
	return s.Blockers
}

// same reports whether no attempt has failed since g.
func (f *Failure) same(g *Failure) bool {
	return g != nil && f.Revision == g.Revision && f.Count == g.Count
}
