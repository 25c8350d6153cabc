// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"certrotation.dev/registry/trust"
)

// Status is what a rollout shows, and what it remembers between two looks. All times are in whole seconds.
type Status struct {
	// LatestAvailableRevision is the newest complete revision, 0 if there is none.
	LatestAvailableRevision int `json:"latestAvailableRevision,omitempty"`
	// Nodes ordered by name.
	Nodes []NodeStatus `json:"nodeStatuses,omitempty"`
	// Conditions ordered by type.
	Conditions []Condition `json:"conditions,omitempty"`
	// Blockers are what the rollout waits for, ordered by node and reason.
	Blockers []Blocker `json:"blockers,omitempty"`
}

// NodeStatus is the state of one node.
type NodeStatus struct {
	Name string `json:"nodeName"`
	UID  string `json:"uid"`
	// CurrentRevision runs on the node, 0 if that is none that is known.
	CurrentRevision int `json:"currentRevision,omitempty"`
	// TargetRevision is being brought to the node, 0 if none is; TargetSince is since when, TargetRestarts says that
	// the static pod restarts for it, and TargetAttempt counts from 0.
	TargetRevision int        `json:"targetRevision,omitempty"`
	TargetSince    *time.Time `json:"targetSince,omitempty"`
	TargetRestarts bool       `json:"targetRestarts,omitempty"`
	TargetAttempt  int        `json:"targetAttempt,omitempty"`
	// PendingSince is since when the node does not have the latest revision, nil if it has.
	PendingSince *time.Time `json:"pendingSince,omitempty"`
	// LastFailed is the newest revision whose installer has failed on the node, nil if none has.
	LastFailed *Failure `json:"lastFailed,omitempty"`
}

// Failure of an installer.
type Failure struct {
	Revision int       `json:"revision"`
	Time     time.Time `json:"time"`
	// Count of attempts that have failed or were lost.
	Count   int    `json:"count"`
	Message string `json:"message,omitempty"`
}

// Condition of a rollout.
type Condition struct {
	Type               string    `json:"type"`
	Status             bool      `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// Blocker is something that a rollout waits for.
type Blocker struct {
	// Node that it is about, "" if it is about none.
	Node    string    `json:"node,omitempty"`
	Reason  Reason    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
	// Overdue says that it takes longer than it should.
	Overdue bool `json:"overdue,omitempty"`
}

// Object names what a blocker of a rollout is about, as Kind/name: its node, or the status of the rollout.
func (b *Blocker) Object(rollout string) string {
	if b.Node == "" {
		return "ConfigMap/" + StatusName(rollout)
	}
	return "Node/" + b.Node
}

// Text is that of a blocker of a rotation about the same object, wherever it is shown.
func (b *Blocker) Text(rollout string) string { return trust.About(b.Object(rollout), b.Message) }

// Reason of a Blocker.
type Reason string

// Reasons of blockers.
const (
	// ReasonClass: no StaticPodClass permits the rollout.
	ReasonClass Reason = "NotPermitted"
	// ReasonSource: no revision can be cut.
	ReasonSource Reason = "SourceNotUsable"
	// ReasonSourceChanging: the sources do not agree with each other yet.
	ReasonSourceChanging Reason = "SourceChanging"
	// ReasonResourcesMissing: the revision lacks something that the node needs.
	ReasonResourcesMissing Reason = "RequiredInstallerResourcesMissing"
	// ReasonNodeNotReady: kubelet does not report.
	ReasonNodeNotReady Reason = "NodeNotReady"
	// ReasonInstallerPending: the installer pod has not ended.
	ReasonInstallerPending Reason = "InstallerPodPending"
	// ReasonInstallerFailed: it is going to be tried again.
	ReasonInstallerFailed Reason = "InstallerPodFailed"
	// ReasonStaticPodPending: the static pod is not there with the revision, or not Ready.
	ReasonStaticPodPending Reason = "StaticPodPending"
	// ReasonNotRejoined: the member does not take part in the quorum.
	ReasonNotRejoined Reason = "MemberNotRejoined"
	// ReasonQuorum: the member must not be restarted now or, about no node, none of them, so that no revision is cut.
	ReasonQuorum Reason = "QuorumNotSafe"
	// ReasonDegraded: another pod or node is not well.
	ReasonDegraded Reason = "OtherNodeNotWell"
	// ReasonRolledBack: the node runs another manifest than the one that was installed last.
	ReasonRolledBack Reason = "ManifestNotCurrent"
	// ReasonMissingStaticPod: the node runs nothing although a manifest was installed.
	ReasonMissingStaticPod Reason = "MissingStaticPod"
	// ReasonPrune: old revisions cannot be removed from the node.
	ReasonPrune Reason = "PrunerPodFailed"
)

// Node returns the status of the node with that name and UID, nil if there is none.
func (s *Status) Node(name, uid string) *NodeStatus {
	if s == nil {
		return nil
	}
	for i := range s.Nodes {
		if s.Nodes[i].Name == name && s.Nodes[i].UID == uid {
			return &s.Nodes[i]
		}
	}
	return nil
}

// Condition returns the one of that type, nil if there is none.
func (s *Status) Condition(conditionType string) *Condition {
	if s == nil {
		return nil
	}
	for i := range s.Conditions {
		if s.Conditions[i].Type == conditionType {
			return &s.Conditions[i]
		}
	}
	return nil
}
