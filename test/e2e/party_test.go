// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// party is a member of a relying party that the test plays. It loads the current material when the test calls
// load.
type party struct {
	// member defaults to the name.
	name, member string
	// leaf is the leaf that it presents, "" if none.
	leaf      string
	startedAt time.Time
}

// readers is a trust domain with the names of the preset mtls-service. The members a and b of one party verify its
// leaves, and acknowledge what they have loaded.
const readers = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: service}
spec:
  trustDomains:
  - name: service
    signer: {secretName: service-signer}
    bundle: {configMapName: service-ca-bundle}
    leaves:
    - {secretName: service-server, usages: [ServerAuth], dnsNames: [service.example]}
    - {secretName: service-mirror, usages: [ServerAuth], dnsNames: [mirror.example]}
    relyingParties:
    - {name: reader, members: [a, b], evidence: {kind: acknowledgement}}
    - {name: nobody, verifies: {nothing: true}, presents: [service-server, service-mirror], evidence: {kind: none, reason: no process runs in this test}}
`

// objectsOfReaders is the number of objects that the API shows for readers.
const objectsOfReaders = 4

// startReaders configures readers in a namespace of its own. Both members have loaded the current content.
func (s *system) startReaders(t *testing.T, namespace string) (a, b *party) {
	t.Helper()
	s.configureReaders(t, namespace)
	return s.startReader(t, namespace, "a"), s.startReader(t, namespace, "b")
}

func (s *system) configureReaders(t *testing.T, namespace string) {
	t.Helper()
	s.namespace(t, namespace, nil)
	s.mustConfigure(t, namespace, readers)
	s.waitHealthy(t, namespace, objectsOfReaders)
}

func (s *system) startReader(t *testing.T, namespace, member string) *party {
	t.Helper()
	p := &party{name: "reader", member: member, startedAt: time.Now()}
	eventually(t, member+" reports", func(ctx context.Context) (bool, string) {
		problem := s.load(ctx, t, namespace, p)
		return problem == "", problem
	})
	return p
}

// load makes a party of the preset mtls-service load the bundle and its leaf, and report that. It returns what
// went wrong, "" if nothing.
func (s *system) load(ctx context.Context, t *testing.T, namespace string, p *party) string {
	t.Helper()
	b, err := s.rot.CertrotationV1alpha1().BundleStatuses(namespace).Get(ctx, bundle, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	report := &v1alpha1.Acknowledgement{
		Party: p.name, Member: p.member, Instance: "0", Trusts: []string{}, StartedAt: metav1.NewMicroTime(p.startedAt), ObservedAt: metav1.NowMicro(),
	}
	for i := range b.Status.Anchors {
		report.Trusts = append(report.Trusts, b.Status.Anchors[i].Fingerprint)
	}
	if p.leaf != "" {
		report.Presents = []string{fingerprintOf(s.rotation(ctx, t, namespace, p.leaf))}
	}
	if _, err := s.rot.CertrotationV1alpha1().CertificateRotations(namespace).Acknowledge(ctx, signer, report, metav1.CreateOptions{}); err != nil {
		return err.Error()
	}
	return ""
}

// stays asserts that a signer does not change while the controller reconciles repeatedly. The controller shows
// that it does by repairing the Secret of the leaf. wrong returns what has changed.
func (s *system) stays(t *testing.T, namespace, leaf string, wrong func(*v1alpha1.CertificateRotation) string) {
	t.Helper()
	for range 5 {
		s.decidesAgain(t, 1, namespace, leaf)
		if what := wrong(s.rotation(t.Context(), t, namespace, signer)); what != "" {
			t.Fatalf("it did not stay: %s", what)
		}
	}
}

// rotated waits until the signer is Stable with a CA other than before, while the parties load the current
// content.
func (s *system) rotated(t *testing.T, namespace, before string, parties ...*party) {
	t.Helper()
	eventually(t, "the rotation of "+namespace+" ends", func(ctx context.Context) (bool, string) {
		var failed []string
		for _, p := range parties {
			if problem := s.load(ctx, t, namespace, p); problem != "" {
				failed = append(failed, problem)
			}
		}
		c := s.rotation(ctx, t, namespace, signer)
		return c.Status.Stage == v1alpha1.StageStable && fingerprintOf(c) != before, fmt.Sprintf("%s %v %q", c.Status.Stage, c.Status.Blockers, failed)
	})
}

// blockedBy waits until exactly one member blocks the rotation, while the others load the current content.
func (s *system) blockedBy(t *testing.T, namespace, laggard, member string, others ...*party) {
	t.Helper()
	eventually(t, "only "+laggard+"/"+member+" holds the rotation of "+namespace, func(ctx context.Context) (bool, string) {
		for _, p := range others {
			s.load(ctx, t, namespace, p) // An error shows as a blocker.
		}
		c := s.rotation(ctx, t, namespace, signer)
		for _, b := range c.Status.Blockers {
			if b.Party != laggard || b.Member != member {
				return false, fmt.Sprintf("another blocker: %+v", b)
			}
		}
		return len(c.Status.Blockers) > 0, "no blocker"
	})
}
