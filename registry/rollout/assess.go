// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// Assess decides about a State and does not change it.
func Assess(s *State) *Assessment {
	a := &assessor{state: s, latest: s.latest(), now: s.Now.Truncate(time.Second), out: &Assessment{}}
	a.members = a.observe()
	if s.Refused != "" {
		a.assessRefused()
		a.assessOutcomes()
	} else {
		a.assessSource()
		a.assessOutcomes()
		a.assessInstallers()
		a.assessPrune()
	}
	a.out.Status = a.status()
	return a.out
}

// assessRefused handles a rollout that no StaticPodClass permits. It starts nothing on a node and deletes installers
// that have not started. Running pods stay.
func (a *assessor) assessRefused() {
	a.wait("", ReasonClass, time.Time{}, 0, a.state.Refused)
	for i := range a.state.Installers {
		if p := &a.state.Installers[i]; !p.Started && !p.Finished && !p.Deleting {
			a.do(Action{Kind: DeleteInstallerPod, Node: p.Node, Revision: p.Revision, Pod: p.Name, Reason: "it has not begun, and is not permitted any more"})
		}
	}
}

type assessor struct {
	state   *State
	latest  *Revision
	now     time.Time
	members []*member
	// cutting means that a revision which restarts the static pods is about to be created.
	cutting  bool
	blockers []Blocker
	out      *Assessment
}

func (a *assessor) do(action Action) {
	a.out.Actions = append(a.out.Actions, action)
}

// wait adds a blocker. It holds since the time in the record, or since from. After limit it is overdue, and the State
// is assessed again at that time.
func (a *assessor) wait(node string, reason Reason, from time.Time, limit time.Duration, message string) {
	b := Blocker{Node: node, Reason: reason, Message: stable(message), Since: a.since(node, reason, from)}
	due := b.Since.Add(limit)
	b.Overdue = !a.now.Before(due)
	if !b.Overdue {
		a.out.recheck(due)
	}
	for _, other := range a.blockers {
		if other.Node == node && other.Reason == reason {
			return
		}
	}
	a.blockers = append(a.blockers, b)
}

func (a *assessor) since(node string, reason Reason, from time.Time) time.Time {
	if from.IsZero() {
		from = a.now
	}
	if a.state.Record == nil {
		return from.UTC().Truncate(time.Second)
	}
	for _, b := range a.state.Record.Blockers {
		if b.Node == node && b.Reason == reason && b.Since.Before(from) {
			return b.Since
		}
	}
	return from.UTC().Truncate(time.Second)
}

// ActionKind says what an action does.
type ActionKind string

// The actions.
const (
	// CreateRevision makes a new revision of the sources. CompleteRevision continues an incomplete one, with its
	// number.
	CreateRevision   ActionKind = "CreateRevision"
	CompleteRevision ActionKind = "CompleteRevision"
	// RunInstaller creates an installer pod. DeleteInstallerPod deletes one that is no longer wanted.
	RunInstaller       ActionKind = "RunInstaller"
	DeleteInstallerPod ActionKind = "DeleteInstallerPod"
	// MarkInstalled records on a revision that a node has it.
	MarkInstalled ActionKind = "MarkInstalled"
	// PruneNode creates a pruner pod. DeletePrunerPod deletes one that has ended. DeleteRevision deletes a revision
	// with its copies.
	PruneNode       ActionKind = "PruneNode"
	DeletePrunerPod ActionKind = "DeletePrunerPod"
	DeleteRevision  ActionKind = "DeleteRevision"
)

// Action is one step of a rollout.
type Action struct {
	Kind ActionKind
	// Node and NodeUID of the affected node.
	Node, NodeUID string
	// Revision of the action. For PruneNode it is the highest one that may be deleted.
	Revision int
	// Attempt of RunInstaller. Restarts means that the node is done only when its static pod is observed to be back.
	// Disturbs means that this installer causes the restart. One that brings new leaves to a restarting node does
	// not.
	Attempt            int
	Restarts, Disturbs bool
	// Pod to delete.
	Pod string
	// Protected are the revisions that PruneNode must keep, ordered.
	Protected []int
	// Reason explains the action.
	Reason string
}

// Assessment is the result of Assess.
type Assessment struct {
	// Status must be written before any action, if it differs from the record.
	Status *Status
	// Actions in the order of their execution.
	Actions []Action
	// NeedsQuorum means that the decision needs an observation of the quorum.
	NeedsQuorum bool
	// Recheck is when to assess again even without a change, zero for never.
	Recheck time.Time
}

func (a *Assessment) recheck(at time.Time) {
	if a.Recheck.IsZero() || at.Before(a.Recheck) {
		a.Recheck = at
	}
}
