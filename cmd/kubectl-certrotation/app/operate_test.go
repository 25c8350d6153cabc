// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/edition"
)

func TestOperate(t *testing.T) {
	const start = "rotate-credentials-start"
	for _, tt := range []struct {
		name      string
		annotated map[string]string
		args      []string
		// want are the annotations afterwards, says is in the error.
		want map[string]string
		says string
	}{
		{name: "at once", args: []string{start}, want: map[string]string{edition.AnnotationOperation: start}},
		{name: "in the next window", args: []string{start, "--maintenance"}, want: map[string]string{edition.AnnotationMaintenanceOperation: start}},
		{
			name: "it was asked before", annotated: map[string]string{edition.AnnotationOperation: "rotate-ca-start"}, args: []string{start},
			want: map[string]string{edition.AnnotationOperation: "rotate-ca-start"}, says: "rotate-ca-start was asked for and is not executed yet",
		},
		{name: "no operation", args: []string{"rotate"}, says: `"rotate" is unknown`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := &configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", Annotations: tt.annotated}}
			cfg.Status.Credentials = &configv1alpha1.CredentialsStatus{CertificateAuthorities: configv1alpha1.CredentialRotation{Phase: edition.Completed}}
			s := newShell(t, cfg)
			code := s.run(t.Context(), append([]string{"operate", "web"}, tt.args...)...)
			if (code == 0) != (tt.says == "") || !strings.Contains(s.errOut.String(), tt.says) {
				t.Errorf("exit code %d, error %q, want %q", code, s.errOut.String(), tt.says)
			}
			if out := s.out.String(); code == 0 && !strings.Contains(out, "before: ca Completed, serviceaccount-key never rotated") {
				t.Errorf("output:\n%s", out)
			}
			got, err := s.api.Own.ConfigV1alpha1().RotationConfigurations("demo").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Annotations) != len(tt.want) {
				t.Errorf("annotations %v, want %v", got.Annotations, tt.want)
			}
			for name, want := range tt.want {
				if got.Annotations[name] != want {
					t.Errorf("annotations %v, want %v", got.Annotations, tt.want)
				}
			}
		})
	}
}
