// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// disturbed is the member that the tests stop or cut off. unattended is a member whose kubelet they stop. newcomer
// joins.
const (
	disturbed  = "master-1"
	unattended = "master-2"
	newcomer   = "master-3"
)

// TestRotationHoldsForDisturbedMembers rotates a signer while one member is down and another one has no kubelet.
// The rotation names each, changes nothing that would cut it off, and continues once both are back. A node joins
// before the rotation ends.
func TestRotationHoldsForDisturbedMembers(t *testing.T) {
	s := theSystem(t)
	before := s.fingerprints(t)
	c := s.begin(t)
	down, orphan := s.Network.Node(disturbed), s.Network.Node(unattended)
	s.repairAfter(t, down.PowerOn)
	s.repairAfter(t, orphan.StartKubelet)
	if err := errors.Join(orphan.StopKubelet(t.Context()), down.PowerOff()); err != nil {
		t.Fatal(err)
	}
	s.rotate(t.Context(), t, etcdSigner)
	until(t.Context(), t, "the rotation names "+disturbed, func(ctx context.Context) error { return s.blockedBy(ctx, etcdSigner, disturbed) })
	s.assertNothingMoved(t, before)
	if err := down.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t.Context(), t, disturbed+" serves", func(ctx context.Context) error { return s.healthy(ctx, disturbed) })
	until(t.Context(), t, "the rotation names "+unattended+", which is not ready", func(ctx context.Context) error {
		if err := s.notReady(ctx, unattended); err != nil {
			return err
		}
		return s.blockedBy(ctx, etcdSigner, unattended)
	})
	s.assertNothingMoved(t, before)
	if err := orphan.StartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.join(t, newcomer)
	s.rotated(t, etcdSigner, before[etcdSigner])
	until(t.Context(), t, newcomer+" serves", func(ctx context.Context) error { return s.healthy(ctx, newcomer) })
	c.end(t, expectation{restarts: restartsOfRotation, killed: []string{disturbed}})
}

// TestExtendedRotationHoldsForAMemberThatIsCutOff rotates a signer while the peers cannot reach a running member.
func TestExtendedRotationHoldsForAMemberThatIsCutOff(t *testing.T) {
	s := theSystem(t)
	before := s.fingerprints(t)
	c := s.begin(t)
	node := s.Network.Node(disturbed)
	s.repairAfter(t, node.Reconnect)
	if err := node.Isolate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.rotate(t.Context(), t, etcdSigner)
	until(t.Context(), t, "the rotation names "+disturbed, func(ctx context.Context) error { return s.blockedBy(ctx, etcdSigner, disturbed) })
	s.assertNothingMoved(t, before)
	if err := node.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.rotated(t, etcdSigner, before[etcdSigner])
	c.end(t, expectation{restarts: restartsOfRotation, killed: []string{disturbed}})
}

// repairAfter repairs a node at the end of the test, even if the test fails.
func (s *system) repairAfter(t *testing.T, repair func(context.Context) error) {
	t.Cleanup(func() {
		if err := repair(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// notReady returns nil if the API says that a node is not ready.
func (s *system) notReady(ctx context.Context, name string) error {
	node, err := s.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return errors.New("the node is ready")
		}
	}
	return nil
}

// blockedBy returns nil if the rotation of the signer names the member as a blocker.
func (s *system) blockedBy(ctx context.Context, signer, member string) error {
	row, err := s.row(ctx, signer)
	if err != nil {
		return err
	}
	if row.Status.Stage != v1alpha1.StageDistributing {
		return fmt.Errorf("the stage is %s", row.Status.Stage)
	}
	if !slices.ContainsFunc(row.Status.Blockers, func(b v1alpha1.Blocker) bool { return b.Member == member }) {
		return fmt.Errorf("it waits for %s", blockers(row))
	}
	anchors, err := s.objects.anchors(bundleOf[signer])
	if err != nil || len(anchors) != 2 {
		return fmt.Errorf("the bundle has %d anchors, want 2: %w", len(anchors), err)
	}
	return nil
}

// assertNothingMoved asserts that no signer and no leaf has changed. While one member does not trust the next CA,
// that CA must not be promoted and must sign no leaf.
func (s *system) assertNothingMoved(t *testing.T, before map[string]string) {
	t.Helper()
	for name, now := range s.fingerprints(t) {
		if before[name] != "" && now != before[name] {
			t.Errorf("%s was replaced while a member does not trust the next CA", name)
		}
	}
}

// TestExtendedRotationGoesOnAfterKillsAndALossOfPower kills the leading controller and a kube-apiserver once in
// each stage. It cuts the power of a node while the installer writes.
func TestExtendedRotationGoesOnAfterKillsAndALossOfPower(t *testing.T) {
	s := theSystem(t)
	before := s.fingerprints(t)[metricSigner]
	c := s.begin(t)
	node := s.Network.Node(disturbed)
	written, err := watchForWrite(node)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	s.rotate(t.Context(), t, metricSigner)
	cut := make(chan error, 1)
	go func() { cut <- cutPower(t, node, written) }()
	killed := map[v1alpha1.Stage]bool{}
	until(t.Context(), t, "the signer is rotated, with kills in between", func(ctx context.Context) error {
		row, err := s.row(ctx, metricSigner)
		if err != nil {
			return err
		}
		stage := row.Status.Stage
		if stage == v1alpha1.StageStable && row.Status.Certificate != nil && row.Status.Certificate.Fingerprint != before {
			return nil
		}
		if !killed[stage] && stage != v1alpha1.StageStable {
			if err := s.kill(ctx); err != nil {
				return err
			}
			killed[stage] = true
		}
		return errors.New("the stage is " + string(stage))
	})
	if err := <-cut; err != nil {
		t.Fatal(err)
	}
	t.Logf("killed both in: %v", killed)
	if !killed[v1alpha1.StageDistributing] || !killed[v1alpha1.StageReissuing] && !killed[v1alpha1.StageDraining] {
		t.Errorf("they were killed only in %v", killed)
	}
	// kill -9 resets open connections, so the API server counts as disturbed.
	c.end(t, expectation{restarts: restartsOfRotation, killed: []string{"API server", disturbed}})
}

// kill kills the controller and a kube-apiserver. keepController and the supervisor start them again.
func (s *system) kill(ctx context.Context) error {
	if err := s.control(ctx, "/kill?name=kube-apiserver-0"); err != nil {
		return err
	}
	return s.Controller.Kill()
}

// control posts a command to the supervisor of the API servers.
func (s *system) control(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.ControlURL()+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %s", path, response.Status)
	}
	return nil
}
