// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// restartsOfRotation is the maximum number of restarts of a member in one rotation of a signer: one to trust the
// new CA and one to drop the old one.
const restartsOfRotation = 2

// TestRotationOnThreeNodes rotates etcd's signer. Afterwards each member verifies by the new CA alone and presents
// a leaf of it. No handshake fails and no write is lost. Durations do not matter.
func TestRotationOnThreeNodes(t *testing.T) {
	s := theSystem(t)
	before := s.fingerprints(t)[etcdSigner]
	targets, err := s.targets()
	if err != nil {
		t.Fatal(err)
	}
	c := s.beginWith(t, gently(targets, 5))
	defer s.stages(t.Context(), t, etcdSigner)()
	s.rotate(t.Context(), t, etcdSigner)
	s.rotated(t, etcdSigner, before)
	c.finish(t)
	anchors, err := s.objects.anchors(bundleOf[etcdSigner])
	if err != nil {
		t.Fatal(err)
	}
	if now := s.fingerprints(t)[etcdSigner]; len(anchors) != 1 || fingerprintOf(anchors[0]) != now || now == before {
		t.Errorf("the bundle has %d anchors, the signer is %s and was %s", len(anchors), now, before)
	}
}

func fingerprintOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// TestExtendedSignersRotateTogether rotates both signers at once. The tests with disturbances rotate a single
// signer.
func TestExtendedSignersRotateTogether(t *testing.T) {
	s := theSystem(t)
	signers := []string{etcdSigner, metricSigner}
	before := s.fingerprints(t)
	c := s.begin(t)
	for _, signer := range signers {
		defer s.stages(t.Context(), t, signer)()
		s.rotate(t.Context(), t, signer)
	}
	for _, signer := range signers {
		s.rotated(t, signer, before[signer])
	}
	c.end(t, expectation{restarts: restartsOfRotation * len(signers)})
}

// fingerprints returns the fingerprints of the active certificates, by name of the CertificateRotation.
func (s *system) fingerprints(t *testing.T) map[string]string {
	t.Helper()
	list, err := s.rot.CertrotationV1alpha1().CertificateRotations(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range list.Items {
		if c := list.Items[i].Status.Certificate; c != nil {
			out[list.Items[i].Name] = c.Fingerprint
		}
	}
	return out
}

// rotated waits until a signer is Stable with a CA other than before.
func (s *system) rotated(t *testing.T, signer, before string) {
	t.Helper()
	until(t.Context(), t, signer+" is rotated", func(ctx context.Context) error {
		row, err := s.row(ctx, signer)
		if err != nil {
			return err
		}
		if c := row.Status.Certificate; c == nil || c.Fingerprint == before || row.Status.Stage != v1alpha1.StageStable {
			return fmt.Errorf("the stage is %s, blockers: %s", row.Status.Stage, blockers(row))
		}
		return nil
	})
}

func blockers(row *v1alpha1.CertificateRotation) string {
	var out []string
	for _, b := range row.Status.Blockers {
		out = append(out, fmt.Sprintf("%s/%s %s: %s", b.Party, b.Member, b.Reason, b.Message))
	}
	return strings.Join(out, "; ")
}

func TestLeafRotationRestartsNobody(t *testing.T) {
	s := theSystem(t)
	leaves := []string{"etcd-serving-master-0", "etcd-peer-master-1", "etcd-serving-metrics-master-2", "etcd-client"}
	before := s.fingerprints(t)
	c := s.begin(t)
	for _, leaf := range leaves {
		s.rotate(t.Context(), t, leaf)
	}
	until(t.Context(), t, "every leaf is another one", func(context.Context) error {
		now := s.fingerprints(t)
		for _, leaf := range leaves {
			if now[leaf] == before[leaf] {
				return errors.New(leaf + " is the old one")
			}
		}
		return nil
	})
	c.end(t, expectation{restarts: 0})
}

func TestDeletedBundleIsRebuilt(t *testing.T) {
	s := theSystem(t)
	c := s.begin(t)
	for _, bundle := range bundleOf {
		before, err := s.objects.anchors(bundle)
		if err != nil {
			t.Fatal(err)
		}
		live, err := s.Client.CoreV1().ConfigMaps(namespace).Get(t.Context(), bundle, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), bundle, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		until(t.Context(), t, bundle+" is there again", func(ctx context.Context) error {
			again, err := s.Client.CoreV1().ConfigMaps(namespace).Get(ctx, bundle, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if again.UID == live.UID {
				return errors.New("it is the deleted one")
			}
			anchors, err := parseAnchors([]byte(again.Data["ca-bundle.crt"]))
			if err != nil || len(anchors) != len(before) || !anchors[0].Equal(before[0]) {
				return fmt.Errorf("it has %d anchors, or another one than before: %w", len(anchors), err)
			}
			return nil
		})
	}
	c.end(t, expectation{restarts: 0})
}
