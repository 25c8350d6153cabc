// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

func TestWaiverLetsARotationEnd(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	const namespace = "waived"
	s.configureReaders(t, namespace)
	a := s.startReader(t, namespace, "a")
	before := fingerprintOf(s.rotation(t.Context(), t, namespace, signer))
	s.must(t, "certrotation", "rotate", "-n", namespace, signer)
	s.blockedBy(t, namespace, "reader", "b", a)

	waive := func(more ...string) []string {
		return append([]string{"certrotation", "waive", "-n", namespace, signer, "--party=reader", "--member=b", "--for=1h"}, more...)
	}
	if out, err := s.kubectl(t, waive()...); err == nil || !strings.Contains(out, "reason") {
		t.Errorf("a waiver without a reason: %v\n%s", err, out)
	}
	s.must(t, waive("--reason=b was switched off for good", "--dry-run=server")...)
	if c := s.rotation(t.Context(), t, namespace, signer); len(c.Status.Blockers) == 0 {
		t.Errorf("a dry run has let the rotation go on: %+v", c.Status)
	}
	t.Logf("waive printed:\n%s", s.must(t, waive("--reason=b was switched off for good")...))
	s.rotated(t, namespace, before, a)

	s.event(t, namespace, "MemberWaived", object{"Secret", signer}, "reader/b", "b was switched off for good")
	if out := s.must(t, "certrotation", "tree", "-n", namespace); strings.Contains(out, "b was switched off for good") {
		t.Errorf("the rotation that it was for has ended, and the tree shows the waiver:\n%s", out)
	}
	s.event(t, namespace, "WaiverEnded", object{"Secret", signer}, "reader/b")
}
