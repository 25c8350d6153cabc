// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/test/apifake"
)

// domains are trust domains of four namespaces, from rest to broken.
func domains() []runtime.Object {
	out := append(domain(), stableDomain("a-rest")...)
	out = append(out, stableDomain("b-waits")...)
	waiting := out[len(out)-2].(*v1alpha1.CertificateRotation)
	distributing(waiting)
	waiting.Status.Blockers[0].Since = at(-25 * time.Minute)
	out = append(out, stableDomain("c-overdue")...)
	late := out[len(out)-2].(*v1alpha1.CertificateRotation)
	distributing(late)
	late.Status.StageDeadline, late.Status.Blockers = at(-5*time.Minute), nil
	return out
}

func TestStatus(t *testing.T) {
	older := signer(distributing, func(o *v1alpha1.CertificateRotation) {
		o.Status.StageSince, o.Status.StageDeadline, o.Status.RotatesAt, o.Status.Certificate = nil, nil, nil, nil
		o.Status.Conditions, o.Status.Next = nil, nil
	})
	for _, tt := range []struct {
		name    string
		objects []runtime.Object
		args    []string
		golden  string
	}{
		{name: "all namespaces", objects: domains(), args: []string{"-A"}, golden: "status.txt"},
		{name: "JSON", objects: stableDomain("demo"), args: []string{"-o", "json"}, golden: "status.json"},
		{name: "a server without the newer fields", objects: []runtime.Object{older}, golden: "status-older.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t, tt.objects...)
			golden(t, tt.golden, s.ok(t, append([]string{"status"}, tt.args...)...))
			onlyLooks(t, s)
		})
	}
}

func event(after time.Duration, kind, name, reason, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: strings.ToLower(kind+"-"+name+"-"+reason) + after.String()},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "demo", Name: name},
		Reason:         reason, Message: message, Type: corev1.EventTypeNormal, EventTime: metav1.MicroTime(*at(after)),
	}
}

// past has the events and records of a rotation that waits, and of another trust domain.
func past() []runtime.Object {
	blocked := event(-20*time.Minute, "Secret", "service-signer", "RotationBlocked", "Distributing waits: clients/client-b: has not loaded\x1b[2J it")
	blocked.Type, blocked.Series = corev1.EventTypeWarning, &corev1.EventSeries{Count: 3, LastObservedTime: metav1.MicroTime(*at(-time.Minute))}
	core := event(0, "ConfigMap", "service-ca-bundle", "CABundleUpdateRequired", `"service-ca-bundle" in "demo" requires a new cert`)
	core.EventTime, core.FirstTimestamp, core.LastTimestamp, core.Count = metav1.MicroTime{}, *at(-29 * time.Minute), *at(-29 * time.Minute), 1
	record := func(name, domain string, after time.Duration, spec configv1alpha1.RotationRecordSpec) *configv1alpha1.RotationRecord {
		spec.TrustDomain = domain
		return &configv1alpha1.RotationRecord{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, CreationTimestamp: *at(after)}, Spec: spec}
	}
	return append(domain(),
		blocked, core,
		event(-28*time.Minute, "Secret", "service-signer", "StageChanged", "trust domain service went from Stable to Distributing"),
		event(-15*time.Minute, "Secret", "service-client-a", "TargetUpdateRequired", "requires a new target cert/key pair"),
		event(-15*time.Minute, "Secret", "another", "TargetUpdateRequired", "is of another trust domain"),
		record("rotate.service-signer", "service", -30*time.Minute, configv1alpha1.RotationRecordSpec{
			Kind: configv1alpha1.RecordRequest,
			Request: &configv1alpha1.RecordedRequest{
				Kind: configv1alpha1.RequestRotate, SecretName: "service-signer", Reason: "INC-7", RequestedBy: "ada", Compromised: true,
			},
		}),
		record("waiver.service.clients.client-c", "service", -10*time.Minute, configv1alpha1.RotationRecordSpec{
			Kind: configv1alpha1.RecordWaiver,
			Waiver: &configv1alpha1.RecordedWaiver{
				Party: "clients", Member: "client-c", Reason: "its host is gone", Expires: *at(time.Hour), WaivedBy: "grace",
			},
		}),
		record("refusal.secret.service-server", "service", -5*time.Minute, configv1alpha1.RotationRecordSpec{
			Kind: configv1alpha1.RecordRefusal,
			Refusal: &configv1alpha1.RecordedRefusal{
				Object: "Secret/service-server", Verb: "update", Answer: "exceeded quota", Since: *at(-6 * time.Minute),
			},
		}),
		record("rotate.another", "another", -30*time.Minute, configv1alpha1.RotationRecordSpec{
			Kind: configv1alpha1.RecordRequest, Request: &configv1alpha1.RecordedRequest{Kind: configv1alpha1.RequestRotate, SecretName: "another"},
		}),
	)
}

func TestHistory(t *testing.T) {
	withoutRecords := func(s *shell) { forbid(s, func(resource string) bool { return resource == "rotationrecords" }) }
	for _, tt := range []struct {
		name    string
		objects []runtime.Object
		server  func(*shell)
		args    []string
		golden  string
	}{
		{name: "of a signer", objects: past(), args: []string{"service-signer"}, golden: "history.txt"},
		{name: "of a leaf", objects: past(), args: []string{"service-server"}, golden: "history-leaf.txt"},
		{name: "JSON", objects: past(), args: []string{"service-signer", "-o", "json"}, golden: "history.json"},
		{name: "without the right to read records", objects: stableDomain("demo"), server: withoutRecords, args: []string{"service-signer"}, golden: "history-rights.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t, tt.objects...)
			if tt.server != nil {
				tt.server(s)
			}
			golden(t, tt.golden, s.ok(t, append([]string{"history"}, tt.args...)...))
			onlyLooks(t, s)
		})
	}
}

// TestWithoutAnAnswer: what cannot be asked is a sentence with the next step, and exit code 2. A name that does not
// exist is an ordinary failure.
func TestWithoutAnAnswer(t *testing.T) {
	all := func(string) bool { return true }
	onlyRotations := func(resource string) bool { return resource != "certificaterotations" && resource != "bundlestatuses" }
	for _, tt := range []struct {
		name   string
		server func(*shell)
		args   []string
		code   int
		says   string
	}{
		{"status without certrotation", func(s *shell) { notServed(s, apifake.NotServed) }, []string{"status"}, 2, "the API certrotation.dev/v1alpha1 is not served by this cluster"},
		{"status half installed", func(s *shell) { notServed(s, apifake.Unavailable) }, []string{"status"}, 2, "The certrotation API server may be down"},
		{"status without rights", func(s *shell) { forbid(s, all) }, []string{"status"}, 2, "Ask for the verbs get, list and watch"},
		{"history without certrotation", func(s *shell) { notServed(s, apifake.NotServed) }, []string{"history", "service-signer"}, 2, "is not served by this cluster"},
		{"history without rights", func(s *shell) { forbid(s, onlyRotations) }, []string{"history", "service-signer"}, 2, "Ask for the verb list on events and on rotationrecords"},
		{"history of nothing", nil, []string{"history", "none"}, 1, "See what exists: kubectl get certificaterotations -n demo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t, domain()...)
			if tt.server != nil {
				tt.server(s)
			}
			if code := s.run(t.Context(), tt.args...); code != tt.code || s.out.Len() > 0 || !strings.Contains(s.errOut.String(), tt.says) {
				t.Errorf("exit code %d, output %q, error %q", code, s.out.String(), s.errOut.String())
			}
			onlyLooks(t, s)
		})
	}
}
