// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	lostNode = "lost"
	// lostAddress is reserved for documentation, so nobody answers there.
	lostAddress = "192.0.2.1"
)

// TestPodOfALostNode: a running pod whose node has no kubelet any more blocks the rotation, by name and with the
// reason. Another trust domain of the configuration rotates meanwhile. The rotation ends after Kubernetes has deleted
// the pod.
func TestPodOfALostNode(t *testing.T) {
	s := scenario(t, "lost-node", "web-signer")
	s.apply(t, "lostnode.yaml")
	s.hashes(t, "web-ca-bundle", "web-server")
	s.hashes(t, "calm-ca-bundle", "calm-server")
	s.create(t, s.server("good", "probed"))
	pod := s.makeLostPod(t)
	until(t, "the other pod is ready", func(ctx context.Context) error {
		_, err := s.ready(ctx, "probed")
		return err
	})

	before := s.rotate(t)
	named := func(ctx context.Context) error {
		if err := s.waitsFor(ctx, "probed", pod.Name); err != nil {
			return err
		}
		row, err := s.row(ctx)
		if err == nil && !strings.Contains(blockers(row), "answers there") {
			err = fmt.Errorf("it says %q", blockers(row))
		}
		return err
	}
	until(t, "the rotation waits for the pod of the lost node alone, and says why", named)
	calm := *s
	calm.signer = "calm-signer"
	calm.rotated(t, calm.rotate(t))
	until(t, "it waits still", named)
	s.holds(t, "probed", pod.Name, before)

	// Kubernetes then deletes the pods of the node. Nothing else reports that they have ended.
	begun := time.Now()
	if err := s.Client.CoreV1().Nodes().Delete(t.Context(), lostNode, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the pod of the lost node is gone", func(ctx context.Context) error {
		if _, err := s.Client.CoreV1().Pods(s.namespace).Get(ctx, pod.Name, metav1.GetOptions{}); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
	t.Logf("Kubernetes has deleted the pod %.0f s after its node", time.Since(begun).Seconds())
	s.rotated(t, before)
}

// makeLostPod makes a pod with the last status that the lost kubelet reported.
func (s *system) makeLostPod(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := s.server("on-lost-node", "probed")
	pod.Spec.NodeName = lostNode
	made := s.create(t, pod)
	made.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: lostAddress, PodIPs: []corev1.PodIP{{IP: lostAddress}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "server", ContainerID: "test://lost", Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}},
	}
	if _, err := s.Client.CoreV1().Pods(s.namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return made
}
