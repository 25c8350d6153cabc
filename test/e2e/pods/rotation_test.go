// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRotationWhilePodsComeAndGo: no handshake fails during a rotation while pods start, end and restart.
func TestRotationWhilePodsComeAndGo(t *testing.T) {
	s := theSystem(t)
	traffic, witness := s.measure(t), watch(t, s)
	churn := s.churn(t, disturbances, 4, disturbance)
	before := s.rotate(t)
	s.rotated(t, before)
	churn.end(t)
	traffic.end(t)
	if members := witness.end(t); members <= 7 {
		t.Errorf("there were %d members in all, so none came", members)
	}
}

func cordon(t *testing.T, s *system, node string, on bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, on)
	if _, err := s.Client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
