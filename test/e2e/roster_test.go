// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// observed waits until the controller has observed the current generation of the configuration.
func (s *system) observed(t *testing.T, namespace, name string) {
	t.Helper()
	eventually(t, "the controller observes the configuration "+namespace+"/"+name, func(ctx context.Context) (bool, string) {
		cfg, err := s.rot.ConfigV1alpha1().RotationConfigurations(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return cfg.Status.ObservedGeneration == cfg.Generation, fmt.Sprintf("generation %d of %d", cfg.Status.ObservedGeneration, cfg.Generation)
	})
}

// TestLaggardRemovedInFlightStillCounts: a member on the roster of a rotation counts until the rotation ends. The
// webhook refuses to remove it, and an edit that bypasses the webhook has no effect. Otherwise the rotation would
// continue and cut the member off.
func TestLaggardRemovedInFlightStillCounts(t *testing.T) {
	s := theSystem(t)
	const namespace = "removed"
	a, b := s.startReaders(t, namespace)
	before := fingerprintOf(s.rotation(t.Context(), t, namespace, signer))
	s.must(t, "certrotation", "rotate", "-n", namespace, signer)
	s.blockedBy(t, namespace, "reader", "b", a)

	members := func(names ...string) func(*configv1alpha1.RotationConfigurationSpec) {
		return func(spec *configv1alpha1.RotationConfigurationSpec) {
			spec.TrustDomains[0].RelyingParties[0].Members = names
		}
	}
	if err := s.reconfigure(t.Context(), namespace, "service", members("a")); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "TrustBeforeUse") {
		t.Errorf("want a refusal by the guard, got %v", err)
	}
	s.whileTheGuardIsAway(t, func() {
		if err := s.reconfigure(t.Context(), namespace, "service", members("a")); err != nil {
			t.Fatal(err)
		}
	})
	s.observed(t, namespace, "service")
	s.stays(t, namespace, "service-server", func(c *v1alpha1.CertificateRotation) string {
		holds := slices.ContainsFunc(c.Status.Blockers, func(b v1alpha1.Blocker) bool { return b.Party == "reader" && b.Member == "b" })
		if !holds || fingerprintOf(c) != before {
			return fmt.Sprintf("stage %s, CA %s, blockers %+v", c.Status.Stage, fingerprintOf(c), c.Status.Blockers)
		}
		return ""
	})
	if err := s.reconfigure(t.Context(), namespace, "service", members("a", "b")); err != nil {
		t.Fatal(err)
	}
	s.rotated(t, namespace, before, a, b)
}
