// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// ActionKind names one thing to do.
type ActionKind string

// Kinds of actions.
const (
	// CreateRevision makes a new revision of the sources. CompleteRevision continues one that is not complete, under
	// its number.
	CreateRevision   ActionKind = "CreateRevision"
	CompleteRevision ActionKind = "CompleteRevision"
	// RunInstaller makes an installer pod. DeleteInstallerPod deletes one that is no longer wanted.
	RunInstaller       ActionKind = "RunInstaller"
	DeleteInstallerPod ActionKind = "DeleteInstallerPod"
	// MarkInstalled records on a revision that a node has it.
	MarkInstalled ActionKind = "MarkInstalled"
	// PruneNode makes a pruner pod. DeletePrunerPod deletes one that has ended. DeleteRevision deletes a revision with
	// its copies.
	PruneNode       ActionKind = "PruneNode"
	DeletePrunerPod ActionKind = "DeletePrunerPod"
	DeleteRevision  ActionKind = "DeleteRevision"
)

// Action is one thing to do.
type Action struct {
	Kind ActionKind
	// Node and NodeUID that it is about.
	Node, NodeUID string
	// Revision that it is about; of PruneNode the highest that may be deleted.
	Revision int
	// Attempt of RunInstaller. Restarts means that the node is done only when its static pod was seen to be back;
	// Disturbs means that this installer causes the restart, which one for new leaves on a node that restarts already
	// does not.
	Attempt            int
	Restarts, Disturbs bool
	// Pod to delete.
	Pod string
	// Protected are the revisions that PruneNode keeps, ordered.
	Protected []int
	// Reason explains the action.
	Reason string
}

// Assessment is the result of Assess.
type Assessment struct {
	// Status has to be written, if it differs from the record, before any action.
	Status *Status
	// Actions in the order in which they are to be done.
	Actions []Action
	// NeedsQuorum says that the decision cannot be made without an observation of the quorum.
	NeedsQuorum bool
	// Recheck is when to assess again although nothing has changed, zero for never.
	Recheck time.Time
}

// recheck requests another assessment at a time.
func (a *Assessment) recheck(at time.Time) {
	if a.Recheck.IsZero() || at.Before(a.Recheck) {
		a.Recheck = at
	}
}
