// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/apifake"
)

// TestIdentityNeedsConsent: without its consent, the key of a Secret is not used.
func TestIdentityNeedsConsent(t *testing.T) {
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	theirs := func(o metav1.Object) { o.SetAnnotations(nil) }
	for name, tt := range map[string]struct {
		spoil func(*corev1.Secret, *corev1.ConfigMap)
		want  string
	}{
		"both consent":       {spoil: func(*corev1.Secret, *corev1.ConfigMap) {}},
		"somebody's Secret":  {spoil: func(s *corev1.Secret, _ *corev1.ConfigMap) { theirs(s) }, want: "Secret " + testNamespace + "/" + leafName},
		"somebody's bundle":  {spoil: func(_ *corev1.Secret, c *corev1.ConfigMap) { theirs(c) }, want: "ConfigMap " + testNamespace + "/" + bundleName},
		"another one's leaf": {spoil: func(s *corev1.Secret, _ *corev1.ConfigMap) { s.Annotations["certrotation.dev/configuration"] = "other" }, want: "Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			secret, bundle := leafSecret(t, ca), bundleOf(ca)
			tt.spoil(secret, bundle)
			c := &Checker{client: apifake.New(t, clock.RealClock{}, secret, bundle).Client, clock: clock.RealClock{}}
			_, err := c.identity(t.Context(), testNamespace, testConfiguration, &configv1alpha1.Quorum{ClientLeaf: leafName, BundleConfigMapName: bundleName})
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "kubectl certrotation adopt -n "+testNamespace+" "+testConfiguration) {
				t.Errorf("error %v", err)
			}
		})
	}
}
