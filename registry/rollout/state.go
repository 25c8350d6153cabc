// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/quorum"
)

// State is the input of Assess for one rollout.
type State struct {
	// Name of the static pod.
	Name string
	// Refused is why no StaticPodClass permits the rollout, "" if one does.
	Refused string
	Limits  Limits
	Source  Source
	// Revisions ordered by number, each number once.
	Revisions []Revision
	// Nodes that run the static pod, ordered by name.
	Nodes      []Node
	Installers []Installer
	Pruners    []Pruner
	Quorum     Quorum
	// Record is the last written Status, nil if there is none.
	Record *Status
	// Failures of the controllers that only execute, by controller name.
	Failures map[string]string
	Now      time.Time
}

// Limits are the parameters of a rollout.
type Limits struct {
	// Image of the installer pods.
	Image string
	// Coalesce is how long sources must be unchanged before a revision is created.
	Coalesce time.Duration
	// InstallerTimeout of one attempt, and StaticPodTimeout of a starting static pod.
	InstallerTimeout, StaticPodTimeout time.Duration
	// Missing is how long kubelet may take to run a manifest that an installer wrote.
	Missing time.Duration
	// FailedRevisions and SucceededRevisions to keep for each node, -1 for all.
	FailedRevisions, SucceededRevisions int
}

// Source is the content for the next revision.
type Source struct {
	// Problem is what is missing or unusable, "" if nothing is.
	Problem string
	// Waiting is what makes the sources inconsistent, "" if they are consistent.
	Waiting string
	// ContentHash and RestartHash are empty if there is a Problem.
	ContentHash, RestartHash string
	// Since is when this content was first observed.
	Since time.Time
	// Differs is when content other than the latest revision's was first observed, zero if it does not differ.
	Differs time.Time
	// Changed names the objects that differ from the latest revision.
	Changed []string
}

// Revision is a numbered immutable copy of the sources.
type Revision struct {
	Number int
	// Ready means that the revision is complete.
	Ready                    bool
	ContentHash, RestartHash string
	Created                  time.Time
	// Installed maps the name of each node with the revision to the node's UID.
	Installed map[string]string
	// Missing are the revision's objects that do not exist. Known only for the latest complete revision.
	Missing []string
	// Lacks maps a node's name to the keys that it needs and the revision lacks. Known only for the latest complete
	// revision.
	Lacks map[string][]string
}

// Node is a node that runs the static pod.
type Node struct {
	Name, UID, Address string
	Ready              bool
	// NotReady is why the node is not Ready.
	NotReady string
	// Deleted nodes are being deleted: nothing starts on them.
	Deleted bool
	// Unfit is why no revision may be brought to the node, "" if one may.
	Unfit string
	// Pod is the mirror pod, nil if there is none.
	Pod *StaticPod
	// Companions are the other static pods that a revision brings to the node.
	Companions []Companion
}

// Companion is a static pod of a node besides the one that the rollout is named after.
type Companion struct {
	Name string
	// Pod is the mirror pod, nil if there is none.
	Pod *StaticPod
}

// StaticPod is the state that a mirror pod shows.
type StaticPod struct {
	// Revision of its manifest, 0 if the manifest names none.
	Revision    int
	RestartHash string
	Phase       string
	Ready       bool
	// Changed is when Ready last changed.
	Changed time.Time
	Started time.Time
	// Trouble is what is wrong with its containers, "" if nothing is.
	Trouble string
	// Discord is how the static pods of a node differ although they belong to one revision, "" if they do not.
	Discord string
}

// Installer is an installer pod.
type Installer struct {
	Name string
	// Node and NodeUID of the node to install on.
	Node, NodeUID string
	Revision      int
	// Attempt is 0 for the first.
	Attempt int
	// Restarts means that it is expected to restart the static pod.
	Restarts bool
	Image    string
	// Started means that kubelet started it, Finished that all its containers ended for good.
	Started, Finished, Succeeded bool
	Deleting                     bool
	Created, FinishedAt          time.Time
	// Waiting is why a container waits, "" if none does. Message has the details, or how the installer ended.
	Waiting, Message string
}

// Pruner is a pruner pod.
type Pruner struct {
	Name, Node          string
	Eligible            int
	Finished, Succeeded bool
	Deleting            bool
	FinishedAt          time.Time
	Message             string
}

// Quorum is the etcd cluster that the static pods form.
type Quorum struct {
	// Configured is false if the rollout has no quorum to check.
	Configured bool
	Strategy   configv1alpha1.QuorumStrategy
	// Observation for this State, nil if there is none. Assess reports whether it needs one.
	Observation *quorum.Observation
	// Failure is why no observation could be made, "" if none was attempted.
	Failure string
}

// latest returns the newest complete revision, nil if there is none.
func (s *State) latest() *Revision {
	for i := len(s.Revisions) - 1; i >= 0; i-- {
		if s.Revisions[i].Ready {
			return &s.Revisions[i]
		}
	}
	return nil
}

func (s *State) revision(number int) *Revision {
	for i := range s.Revisions {
		if s.Revisions[i].Number == number {
			return &s.Revisions[i]
		}
	}
	return nil
}
