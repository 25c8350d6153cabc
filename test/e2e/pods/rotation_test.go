// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRotationWhilePodsComeAndGo: a rotation of the signer costs no handshake, whatever happens to the pods meanwhile.
func TestRotationWhilePodsComeAndGo(t *testing.T) {
	s := theSystem(t)
	traffic, witness := s.measure(t), watch(t, s)
	churn := s.churn(t, disturbances, disturbance)
	before := s.rotate(t)
	s.rotated(t, before)
	churn.end(t)
	traffic.end(t)
	if members := witness.end(t); members <= 7 {
		t.Errorf("there were %d members in all, so none came", members)
	}
}

// TestRotationWhileNodesComeAndGo: a node is drained, and another one joins, while the signer is rotated.
func TestRotationWhileNodesComeAndGo(t *testing.T) {
	s := theSystem(t)
	traffic, witness := s.measure(t), watch(t, s)
	before := s.rotate(t)
	cordon(t, s, "worker-1", true)
	s.drain(t, "worker-1")
	if err := s.Join(t.Context(), "worker-3"); err != nil {
		t.Fatal(err)
	}
	s.rotated(t, before)
	cordon(t, s, "worker-1", false)
	until(t, "the sample is as it was", s.settled)
	traffic.end(t)
	witness.end(t)
}

func cordon(t *testing.T, s *system, node string, on bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, on)
	if _, err := s.Client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// drain evicts the pods of a node and waits until they are gone.
func (s *system) drain(t *testing.T, node string) {
	t.Helper()
	on := metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}
	pods, err := s.Client.CoreV1().Pods(namespace).List(t.Context(), on)
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("node %s has %d pods, which says nothing: %v", node, len(pods.Items), err)
	}
	for i := range pods.Items {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods.Items[i].Name, Namespace: namespace}}
		if err := s.Client.PolicyV1().Evictions(namespace).Evict(t.Context(), eviction); err != nil {
			t.Fatal(err)
		}
	}
	until(t, node+" has no pods", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods(namespace).List(ctx, on)
		if err == nil && len(pods.Items) > 0 {
			err = errors.New(pods.Items[0].Name + " is there")
		}
		return err
	})
}
