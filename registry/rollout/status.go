// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"certrotation.dev/registry/trust"
)

// Status is what a rollout shows and remembers between two assessments. All times are in whole seconds.
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
	// CurrentRevision runs on the node, 0 if unknown.
	CurrentRevision int `json:"currentRevision,omitempty"`
	// TargetRevision is on its way to the node since TargetSince, 0 if none is. TargetRestarts means that the static
	// pod restarts for it. TargetAttempt counts from 0.
	TargetRevision int        `json:"targetRevision,omitempty"`
	TargetSince    *time.Time `json:"targetSince,omitempty"`
	TargetRestarts bool       `json:"targetRestarts,omitempty"`
	TargetAttempt  int        `json:"targetAttempt,omitempty"`
	// PendingSince is since when the node lacks the latest revision, nil if it has it.
	PendingSince *time.Time `json:"pendingSince,omitempty"`
	// LastFailed is the newest revision whose installer failed on the node, nil if none did.
	LastFailed *Failure `json:"lastFailed,omitempty"`
}

// Failure of an installer.
type Failure struct {
	Revision int       `json:"revision"`
	Time     time.Time `json:"time"`
	// Count of failed or lost attempts.
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

// Blocker is a reason for which a rollout waits.
type Blocker struct {
	// Node of the blocker, "" if it is about no node.
	Node    string    `json:"node,omitempty"`
	Reason  Reason    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
	// Overdue means that it takes longer than it should.
	Overdue bool `json:"overdue,omitempty"`
}

// Object returns the blocker's object as Kind/name: its node, or the status of the rollout.
func (b *Blocker) Object(rollout string) string {
	if b.Node == "" {
		return "ConfigMap/" + StatusName(rollout)
	}
	return "Node/" + b.Node
}

// Text returns the message in the form that a rotation's blocker of the same object has.
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
	// ReasonInstallerFailed: the installer failed and will be retried.
	ReasonInstallerFailed Reason = "InstallerPodFailed"
	// ReasonStaticPodPending: the static pod does not run the revision yet, or is not Ready.
	ReasonStaticPodPending Reason = "StaticPodPending"
	// ReasonNotRejoined: the member does not take part in the quorum.
	ReasonNotRejoined Reason = "MemberNotRejoined"
	// ReasonQuorum: the member must not restart now. Without a node: no member may, so no revision is cut.
	ReasonQuorum Reason = "QuorumNotSafe"
	// ReasonDegraded: another pod or node is not well.
	ReasonDegraded Reason = "OtherNodeNotWell"
	// ReasonRolledBack: the node runs another manifest than the last installed one.
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

// Condition returns the condition of that type, nil if there is none.
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
