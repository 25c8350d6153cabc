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

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/cluster/nodes"
)

// disturbed is the member that the tests stop or cut off.
const disturbed = "master-1"

// disturbance is what keeps one member from following a rotation.
type disturbance struct {
	name   string
	signer string
	harm   func(ctx context.Context, node *nodes.Node) error
	repair func(ctx context.Context, node *nodes.Node) error
	want   expectation
}

// TestRotationHoldsForADisturbedMember rotates a signer while one member cannot follow: the rotation names that member,
// changes nothing that would cut it off, and continues once it is back.
func TestRotationHoldsForADisturbedMember(t *testing.T) {
	for _, tc := range []disturbance{
		{
			name:   "a member is down",
			signer: etcdSigner,
			harm:   func(_ context.Context, node *nodes.Node) error { return node.PowerOff() },
			repair: func(ctx context.Context, node *nodes.Node) error { return node.PowerOn(ctx) },
			want:   expectation{restarts: restartsOfRotation, killed: []string{disturbed}},
		},
		{
			name:   "kubelet of a member is stopped",
			signer: metricSigner,
			harm:   func(ctx context.Context, node *nodes.Node) error { return node.StopKubelet(ctx) },
			repair: func(ctx context.Context, node *nodes.Node) error { return node.StartKubelet(ctx) },
			want:   expectation{restarts: restartsOfRotation},
		},
	} {
		t.Run(tc.name, func(t *testing.T) { rotateDisturbed(t, &tc) })
	}
}

// TestExtendedRotationHoldsForAMemberThatIsCutOff is that for a member that runs, and that its peers cannot reach.
func TestExtendedRotationHoldsForAMemberThatIsCutOff(t *testing.T) {
	rotateDisturbed(t, &disturbance{
		signer: etcdSigner,
		harm:   func(ctx context.Context, node *nodes.Node) error { return node.Isolate(ctx) },
		repair: func(ctx context.Context, node *nodes.Node) error { return node.Reconnect(ctx) },
		want:   expectation{restarts: restartsOfRotation, killed: []string{disturbed}},
	})
}

func rotateDisturbed(t *testing.T, d *disturbance) {
	t.Helper()
	s := theSystem(t)
	before := s.fingerprints(t)
	c := s.begin(t)
	node := s.Network.Node(disturbed)
	t.Cleanup(func() {
		if err := d.repair(context.WithoutCancel(t.Context()), node); err != nil {
			t.Error(err)
		}
	})
	if err := d.harm(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	s.rotate(t.Context(), t, d.signer)
	until(t.Context(), t, "the rotation names "+disturbed, func(ctx context.Context) error {
		return s.blockedBy(ctx, d.signer, disturbed)
	})
	s.assertNothingMoved(t, before)
	if err := d.repair(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	s.rotated(t, d.signer, before[d.signer])
	c.end(t, d.want)
}

// blockedBy returns nil when the rotation of the signer names the member as a blocker.
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

// assertNothingMoved: while one member does not trust the next CA, that CA is not promoted, and no leaf is signed by
// it.
func (s *system) assertNothingMoved(t *testing.T, before map[string]string) {
	t.Helper()
	for name, now := range s.fingerprints(t) {
		if before[name] != "" && now != before[name] {
			t.Errorf("%s was replaced while a member does not trust the next CA", name)
		}
	}
}

// TestControllerAndAPIServerKilledInEveryStage kills the controller that leads and a kube-apiserver once in each stage.
func TestControllerAndAPIServerKilledInEveryStage(t *testing.T) {
	s := theSystem(t)
	before := s.fingerprints(t)[etcdSigner]
	c := s.begin(t)
	s.rotate(t.Context(), t, etcdSigner)
	killed := map[v1alpha1.Stage]bool{}
	until(t.Context(), t, "the signer is rotated, with kills in between", func(ctx context.Context) error {
		row, err := s.row(ctx, etcdSigner)
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
	t.Logf("killed both in: %v", killed)
	if !killed[v1alpha1.StageDistributing] || !killed[v1alpha1.StageReissuing] && !killed[v1alpha1.StageDraining] {
		t.Errorf("they were killed only in %v", killed)
	}
	// kill -9 resets the connections of that moment, whatever stands in front of it.
	c.end(t, expectation{restarts: restartsOfRotation, killed: []string{"API server"}})
}

// kill kills the controller, which keepController starts again, and a kube-apiserver, as its supervisor does.
func (s *system) kill(ctx context.Context) error {
	if err := s.control(ctx, "/kill?name=kube-apiserver-0"); err != nil {
		return err
	}
	return s.Controller.Kill()
}

// control asks the supervisor of the API servers to do something.
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
