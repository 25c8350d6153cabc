// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// ActionKind names one thing to do.
type ActionKind string

// Kinds of actions.
const (
	// CreateRevision makes a new revision of the sources. CompleteRevision goes on with one that is not complete, under
	// its number.
	CreateRevision   ActionKind = "CreateRevision"
	CompleteRevision ActionKind = "CompleteRevision"
	// RunInstaller makes an installer pod. DeleteInstallerPod deletes one that is not wanted any more.
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
	// Attempt of RunInstaller. Restarts says that the node is done only when its static pod is seen to be back, Disturbs
	// that this installer is what restarts it: one for new leaves, on a node that restarts already, does not.
	Attempt            int
	Restarts, Disturbs bool
	// Pod to delete.
	Pod string
	// Protected are the revisions that PruneNode keeps, ordered.
	Protected []int
	// Reason says why.
	Reason string
}

// Assessment is what Assess says of a State.
type Assessment struct {
	// Status is to be written, if it differs from the record, before anything is done.
	Status *Status
	// Actions in the order in which they are to be done.
	Actions []Action
	// NeedsQuorum says that the decision cannot be made without an observation of the quorum.
	NeedsQuorum bool
	// Recheck is when the State has to be looked at again although nothing has changed, zero for never.
	Recheck time.Time
}

// recheck has the State looked at again at a time.
func (a *Assessment) recheck(at time.Time) {
	if a.Recheck.IsZero() || at.Before(a.Recheck) {
		a.Recheck = at
	}
}
