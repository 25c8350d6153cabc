// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Status is what the ConfigMap StatusName(Number) says of a revision.
type Status struct {
	Number int
	// Rollout is the name of the one that the revision belongs to.
	Rollout string
	// Reason that it was made for.
	Reason                   string
	ContentHash, RestartHash string
	// Ready says that all copies of the revision exist. Without its hashes nobody can say what it is, so then it is not.
	Ready bool

	annotations map[string]string
}

// ReadStatus is the reverse of Put. It is false for another ConfigMap, and for one that is being deleted: that has lost copies
// already, or is about to.
func ReadStatus(cm *corev1.ConfigMap) (Status, bool) {
	number, ok := ParseStatusName(cm.Name)
	if !ok || cm.DeletionTimestamp != nil {
		return Status{}, false
	}
	s := Status{
		Number: number, Rollout: cm.Labels[LabelRollout], Reason: cm.Data[statusKeyReason],
		ContentHash: cm.Data[StatusKeyContentHash], RestartHash: cm.Data[StatusKeyRestartHash], annotations: cm.Annotations,
	}
	s.Ready = cm.Annotations[AnnotationReady] == readyTrue && s.ContentHash != "" && s.RestartHash != ""
	return s, true
}

// Installed is the UID of the node of that name on which the revision is, "" if it is not known to be on any.
func (s *Status) Installed(node string) string { return s.annotations[InstalledAnnotation(node)] }

// Put writes a status into its ConfigMap. Where the revision is installed stays as it is.
func (s *Status) Put(cm *corev1.ConfigMap) {
	cm.Name = StatusName(s.Number)
	if cm.Labels == nil {
		cm.Labels = map[string]string{}
	}
	if cm.Annotations == nil {
		cm.Annotations = map[string]string{}
	}
	said, ready := statusCreating, readyFalse
	if s.Ready {
		said, ready = statusReady, readyTrue
	}
	cm.Labels[LabelRollout], cm.Annotations[AnnotationReady] = s.Rollout, ready
	cm.Data = map[string]string{
		statusKeyStatus: said, statusKeyRevision: strconv.Itoa(s.Number), statusKeyReason: s.Reason,
		StatusKeyContentHash: s.ContentHash, StatusKeyRestartHash: s.RestartHash,
	}
}

// What the ConfigMap of a status says of itself, for people and for the tools of OpenShift.
const (
	statusKeyStatus   = "status"
	statusKeyRevision = "revision"
	statusKeyReason   = "reason"

	statusReady    = "Ready"
	statusCreating = "Creating"
	readyTrue      = "true"
	readyFalse     = "false"
)
