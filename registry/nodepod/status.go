// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Status is the content of the ConfigMap StatusName(Number).
type Status struct {
	Number int
	// Rollout is the name of the revision's rollout.
	Rollout string
	// Reason for which the revision was created.
	Reason                   string
	ContentHash, RestartHash string
	// Ready reports whether all copies of the revision exist. A revision without its hashes is not ready, because
	// nothing identifies it.
	Ready bool

	annotations map[string]string
}

// ReadStatus is the reverse of Put. It returns false for any other ConfigMap, and for one that is being deleted: its
// copies are already going.
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

// Installed is the UID of the node of that name with the revision, "" if none is recorded.
func (s *Status) Installed(node string) string { return s.annotations[InstalledAnnotation(node)] }

// Put writes a status into its ConfigMap. It does not change the records of Installed.
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

// Data of a status ConfigMap, for people and for the tools of OpenShift.
const (
	statusKeyStatus   = "status"
	statusKeyRevision = "revision"
	statusKeyReason   = "reason"

	statusReady    = "Ready"
	statusCreating = "Creating"
	readyTrue      = "true"
	readyFalse     = "false"
)
