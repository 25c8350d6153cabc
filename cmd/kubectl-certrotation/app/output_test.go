// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// answering returns a server with the configuration web that takes each request.
func answering(t *testing.T) *shell {
	t.Helper()
	s := newShell(t,
		&configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}, Data: map[string]string{"a": "b"}})
	end := testNow.Add(time.Hour)
	s.answer("rotate", plan(), nil)
	s.answer("abort", plan(), nil)
	s.answer("waive", &v1alpha1.Waiver{Party: "clients", Member: "client-b", Reason: "r", Expires: &metav1.Time{Time: end}}, nil)
	s.answer("acknowledge", &v1alpha1.Acknowledgement{Party: "clients", Trusts: []string{oldCA}, Expires: &metav1.MicroTime{Time: end}}, nil)
	return s
}

func TestReplies(t *testing.T) {
	const object = "certificaterotation.certrotation.dev/service-signer\n"
	for _, tt := range []struct {
		line string
		// kind and name are what -o prints. Without them the command has no -o.
		kind, name string
	}{
		{line: "rotate service-signer", kind: "RotationPlan", name: object},
		{line: "abort service-signer", kind: "RotationPlan", name: object},
		{line: "waive service-signer --party clients --member client-b --reason r --for 1h", kind: "Waiver", name: object},
		{line: "acknowledge service-signer --party clients --trusts " + oldCA, kind: "Acknowledgement", name: object},
		{line: "operate web rotate-ca-start", kind: "RotationConfiguration", name: "rotationconfiguration.config.certrotation.dev/web\n"},
		{line: "content-hash cm/web"},
	} {
		args := strings.Fields(tt.line)
		t.Run(args[0], func(t *testing.T) {
			golden(t, args[0]+".txt", answering(t).ok(t, args...))
			if tt.kind == "" {
				return
			}
			if got := answering(t).ok(t, append(args, "-o", "name")...); got != tt.name {
				t.Errorf("-o name prints %q, want %q", got, tt.name)
			}
			if got := answering(t).ok(t, append(args, "-o", "jsonpath={.kind}")...); got != tt.kind {
				t.Errorf("-o jsonpath={.kind} prints %q, want %q", got, tt.kind)
			}
		})
	}
}
