// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/rollout"
)

// RolloutStatus is what the controller has written of a rollout, or the reason why that cannot be read.
type RolloutStatus struct {
	// Status is within the bounds of rollout.Decode. It is shared and must not be changed.
	Status *rollout.Status
	// Error is the text of the error if Status is nil.
	Error string
}

// parseRolloutStatus takes a status only under the name that belongs to its rollout. Otherwise two could say different
// things of one rollout.
func parseRolloutStatus(cm *corev1.ConfigMap) *RolloutStatus {
	if want := rollout.StatusName(cm.Labels[rollout.LabelStatus]); cm.Name != want {
		return &RolloutStatus{Error: fmt.Sprintf("the status of the rollout that the label %s names must be in ConfigMap %.253q", rollout.LabelStatus, want)}
	}
	status, err := rollout.Decode(cm.Data[rollout.StatusKey])
	if err != nil {
		return &RolloutStatus{Error: fmt.Sprintf("%s: %.512s", rollout.StatusKey, err)}
	}
	return &RolloutStatus{Status: status}
}
