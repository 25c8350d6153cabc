// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

func testPodThatLags(t *testing.T, s *podStage) {
	a, b, server := s.run(t, "client", "a"), s.run(t, "client", "b"), s.run(t, "server", "s")
	s.configured(t, a, b, server)
	before := s.rotate(t)
	s.waitsFor(t, "", "clients/a", "clients/b")
	a.acknowledged(t)
	s.waitsFor(t, "make it reload its trust bundle and acknowledge", "clients/b")
	b.acknowledged(t)
	s.stable(t, before, a, b, server)
}

func testPodThatIsDeleted(t *testing.T, s *podStage) {
	a, b, server := s.run(t, "client", "a"), s.run(t, "client", "b"), s.run(t, "server", "s")
	s.configured(t, a, b, server)
	before := s.rotate(t)
	a.acknowledged(t)
	b.deleted(t)
	s.waitsFor(t, "it is terminating, and counts until it is gone", "clients/b")
	b.gone(t)
	s.stable(t, before, a, server)
}

func testPodThatRestarts(t *testing.T, s *podStage) {
	a, b, server := s.run(t, "client", "a"), s.run(t, "client", "b"), s.run(t, "server", "s")
	s.configured(t, a, b, server)
	before := s.rotate(t)
	a.acknowledged(t)
	s.waitsFor(t, "", "clients/b")
	a.start(t)
	s.waitsFor(t, "was restarted after it was last observed", "clients/a", "clients/b")
	a.acknowledged(t)
	s.waitsFor(t, "", "clients/b")
	s.stable(t, before, a, b, server)
}

// testPodThatIsReplaced: a StatefulSet gives a new pod the name of the former one.
func testPodThatIsReplaced(t *testing.T, s *podStage) {
	a, b, server := s.run(t, "client", "a"), s.run(t, "client", "b"), s.run(t, "server", "s")
	s.configured(t, a, b, server)
	before := s.rotate(t)
	a.acknowledged(t)
	s.waitsFor(t, "", "clients/b")
	a.gone(t)
	successor := s.run(t, "client", "a")
	s.waitsFor(t, "", "clients/a", "clients/b")
	if err := a.acknowledge(t.Context()); err == nil {
		t.Error("the former pod has reported")
	}
	successor.acknowledged(t)
	s.waitsFor(t, "", "clients/b")
	s.stable(t, before, successor, b, server)
}

func testPodsScaledToZero(t *testing.T, s *podStage) {
	a, b, server := s.run(t, "client", "a"), s.run(t, "client", "b"), s.run(t, "server", "s")
	s.configured(t, a, b, server)
	// A record must show that the selector has chosen pods before the last of them is gone.
	eventually(t, "it is recorded that the selector has chosen pods", func(ctx context.Context) error {
		records, err := s.own.ConfigV1alpha1().RotationRecords(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range records.Items {
			if roster := records.Items[i].Spec.Roster; roster != nil && slices.ContainsFunc(roster.Populated, func(name string) bool { return strings.HasPrefix(name, "clients/") }) {
				return nil
			}
		}
		return errors.New("no record says so")
	})
	a.gone(t)
	b.gone(t)
	before := s.rotate(t)
	s.stable(t, before, server)
	// The next pod loads what is published now.
	s.stable(t, "", s.run(t, "client", "c"), server)
}

func testPodsRelabelled(t *testing.T, s *podStage) {
	a, b, c, server := s.run(t, "client", "a"), s.run(t, "client", "b"), s.run(t, "client", "c"), s.run(t, "server", "s")
	s.configured(t, a, b, c, server)
	before := s.rotate(t)
	s.waitsFor(t, "", "clients/a", "clients/b", "clients/c")
	a.acknowledged(t)
	b.relabel(t)
	c.relabel(t)
	s.waitsFor(t, "", "clients/b", "clients/c")
	// The pod counts by the roster alone, and reports as before.
	c.acknowledged(t)
	s.waitsFor(t, "", "clients/b")
	b.gone(t)
	s.stable(t, before, a, server)
}

func testPodThatHasNotBegun(t *testing.T, s *podStage) {
	a, server := s.run(t, "client", "a"), s.run(t, "server", "s")
	s.configured(t, a, server)
	before := s.rotate(t)
	pending := s.pod(t, "client", "pending")
	s.waitsFor(t, "", "clients/a")
	a.acknowledged(t)
	eventually(t, "the rotation goes on without the pod that has not begun", func(ctx context.Context) error {
		if err := errors.Join(a.acknowledge(ctx), server.acknowledge(ctx)); err != nil {
			return err
		}
		if signer := s.signer(t); signer.Status.Stage != "Stable" || signer.Status.Certificate.Fingerprint == before {
			return errors.New("the stage is " + string(signer.Status.Stage))
		}
		return nil
	})
	pending.start(t)
	s.stable(t, before, a, server, pending)
}

// testPodsNeverSeen: a selector that has never chosen a pod may be wrong.
func testPodsNeverSeen(t *testing.T, s *podStage) {
	server := s.run(t, "server", "s")
	configure(t, s.own, s.namespace, podsConfiguration)
	s.stable(t, "", server)
	planned := func(ctx context.Context) ([]v1alpha1.Blocker, error) {
		plan, err := s.own.CertrotationV1alpha1().CertificateRotations(s.namespace).Rotate(ctx, "web-signer",
			&v1alpha1.RotationRequest{Reason: "test"}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, err
		}
		return plan.Blockers, nil
	}
	eventually(t, "the plan names the selector that has never chosen a pod", func(ctx context.Context) error {
		blockers, err := planned(ctx)
		if err == nil && !slices.ContainsFunc(blockers, func(b v1alpha1.Blocker) bool {
			return b.Reason == string(trust.ReasonNoVerifier) && strings.Contains(b.Message, "relying party clients would, but its selector has never chosen a pod")
		}) {
			err = fmt.Errorf("blockers %+v", blockers)
		}
		return err
	})
	a := s.run(t, "client", "a")
	s.stable(t, "", a, server)
	if blockers, err := planned(t.Context()); err != nil || len(blockers) > 0 {
		t.Errorf("with a pod: %v, blockers %+v", err, blockers)
	}
}

// testPodsThatCome: the new members of a workload that is scaled up in flight count as soon as they run.
func testPodsThatCome(t *testing.T, s *podStage) {
	a, server := s.run(t, "client", "a"), s.run(t, "server", "s")
	s.configured(t, a, server)
	before := s.rotate(t)
	b := s.run(t, "client", "b")
	s.waitsFor(t, "", "clients/a", "clients/b")
	a.acknowledged(t)
	s.waitsFor(t, "", "clients/b")
	second := s.run(t, "server", "s2")
	s.stable(t, before, a, b, server, second)
}
