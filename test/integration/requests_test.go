// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

func testRotateDryRun(t *testing.T, d *demo) {
	before := d.records(t)
	plan, err := d.own.CertrotationV1alpha1().CertificateRotations(d.namespace).
		Rotate(t.Context(), "service-signer", &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Target != "service-signer" || len(plan.Steps) == 0 || plan.Hash == "" {
		t.Errorf("plan %+v, want steps and a hash", plan)
	}
	if diff := cmp.Diff(before, d.records(t)); diff != "" {
		t.Errorf("a dry run has written (-before +after):\n%s", diff)
	}
	_, err = d.own.CertrotationV1alpha1().CertificateRotations(d.namespace).
		Rotate(t.Context(), "nobody", &v1alpha1.RotationRequest{}, metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("rotating what does not exist: %v, want NotFound", err)
	}
}

func testAcknowledge(t *testing.T, d *demo) {
	rotations := d.own.CertrotationV1alpha1().CertificateRotations(d.namespace)
	signer, err := rotations.Get(t.Context(), "service-signer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	started := metav1.NewMicroTime(time.Now().Add(-time.Hour))
	report := func() *v1alpha1.Acknowledgement {
		return &v1alpha1.Acknowledgement{
			Party: "client-a", Member: "client-a", Instance: "pod-1", Trusts: []string{signer.Status.Certificate.Fingerprint},
			StartedAt: started, ObservedAt: metav1.NowMicro(),
		}
	}
	for _, tc := range []struct {
		name     string
		change   func(*v1alpha1.Acknowledgement)
		refused  func(error) bool
		evidence []string // the recorded processes
	}{
		{name: "a process", change: func(*v1alpha1.Acknowledgement) {}, evidence: []string{"pod-1"}},
		{name: "the same again", change: func(*v1alpha1.Acknowledgement) {}, evidence: []string{"pod-1"}},
		{name: "a replica with nothing loaded", change: func(a *v1alpha1.Acknowledgement) { a.Instance, a.Trusts = "pod-2", []string{} }, evidence: []string{"pod-1", "pod-2"}},
		{name: "a stranger", change: func(a *v1alpha1.Acknowledgement) { a.Party, a.Member = "stranger", "x" }, refused: apierrors.IsConflict},
		{name: "no start", change: func(a *v1alpha1.Acknowledgement) { a.StartedAt = metav1.MicroTime{} }, refused: apierrors.IsInvalid},
		{name: "a start in the future", change: func(a *v1alpha1.Acknowledgement) { a.StartedAt = metav1.NewMicroTime(time.Now().Add(time.Hour)) }, refused: apierrors.IsConflict},
		{name: "no look", change: func(a *v1alpha1.Acknowledgement) { a.ObservedAt = metav1.MicroTime{} }, refused: apierrors.IsInvalid},
		{name: "a look of 30 days ago", change: func(a *v1alpha1.Acknowledgement) {
			a.StartedAt, a.ObservedAt = metav1.NewMicroTime(time.Now().AddDate(0, 0, -31)), metav1.NewMicroTime(time.Now().AddDate(0, 0, -30))
		}, refused: apierrors.IsConflict},
		{name: "an older process of the same name", change: func(a *v1alpha1.Acknowledgement) { a.StartedAt = metav1.NewMicroTime(started.Add(-time.Hour)) }, refused: apierrors.IsConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := d.records(t)
			ack := report()
			tc.change(ack)
			answer, err := rotations.Acknowledge(t.Context(), "service-signer", ack, metav1.CreateOptions{})
			if tc.refused != nil {
				if !tc.refused(err) {
					t.Errorf("error %v", err)
				}
				if diff := cmp.Diff(before, d.records(t)); diff != "" {
					t.Errorf("it has written all the same (-before +after):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if answer.Expires == nil || time.Until(answer.Expires.Time) < 59*time.Minute || time.Until(answer.Expires.Time) > time.Hour {
				t.Errorf("it counts until %v, want an hour from now", answer.Expires)
			}
			var processes []string
			for _, process := range d.records(t)["evidence.service.client-a.client-a"].Evidence.Processes {
				processes = append(processes, process.Instance)
			}
			if !slices.Equal(processes, tc.evidence) {
				t.Errorf("the evidence is of %q, want %q", processes, tc.evidence)
			}
		})
	}
}

func testRotate(t *testing.T, d *demo) {
	rotations := d.own.CertrotationV1alpha1().CertificateRotations(d.namespace)
	if _, err := rotations.Rotate(t.Context(), "service-signer", &v1alpha1.RotationRequest{Reason: "drill", Compromised: true}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := d.records(t)["rotate.service-signer"].Request
	if got == nil || got.RequestedBy == "" {
		t.Fatalf("the request is recorded as %+v", got)
	}
	secret, err := d.client.CoreV1().Secrets(d.namespace).Get(t.Context(), "service-signer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newest, err := certificates(secret.Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	want := &configv1alpha1.RecordedRequest{
		Kind: configv1alpha1.RequestRotate, SecretName: "service-signer", Reason: "drill", Compromised: true, RequestedBy: got.RequestedBy,
		Newest: string(fingerprintOf(newest[0])),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if len(secret.ManagedFields) != 1 {
		t.Errorf("the Secret is written by %v, and serve writes no Secret", secret.ManagedFields)
	}
}

func testWaive(t *testing.T, d *demo) {
	rotations := d.own.CertrotationV1alpha1().CertificateRotations(d.namespace)
	before := d.records(t)
	waiver := func() *v1alpha1.Waiver {
		return &v1alpha1.Waiver{Party: "client-b", Reason: "switched off", Expires: &metav1.Time{Time: time.Now().Add(time.Hour)}}
	}
	if _, err := rotations.Waive(t.Context(), "service-signer", waiver(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.Waiver)
		refused func(error) bool
	}{
		"without a reason": {func(w *v1alpha1.Waiver) { w.Reason = "" }, apierrors.IsInvalid},
		"of a stranger":    {func(w *v1alpha1.Waiver) { w.Party = "stranger" }, apierrors.IsConflict},
	} {
		w := waiver()
		tc.change(w)
		if _, err := rotations.Waive(t.Context(), "service-signer", w, metav1.CreateOptions{}); !tc.refused(err) {
			t.Errorf("a waiver %s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, d.records(t)); diff != "" {
		t.Errorf("what was refused, or tried, is written (-before +after):\n%s", diff)
	}
	if _, err := rotations.Waive(t.Context(), "service-signer", waiver(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := d.records(t)["waiver.service.client-b.client-b"].Waiver
	if got == nil || got.Reason != "switched off" || got.WaivedBy == "" || got.Member != "client-b" {
		t.Errorf("the waiver is recorded as %+v", got)
	}
}
