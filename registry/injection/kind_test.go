// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// TestVerifiedByAPIServer lists every kind, so that a new kind must be classified.
func TestVerifiedByAPIServer(t *testing.T) {
	got := map[configv1alpha1.InjectionKind]bool{}
	for kind := range Resources {
		got[kind] = kind.VerifiedByAPIServer()
	}
	want := map[configv1alpha1.InjectionKind]bool{
		configv1alpha1.InjectValidatingWebhook: true, configv1alpha1.InjectMutatingWebhook: true,
		configv1alpha1.InjectAPIService: true, configv1alpha1.InjectCustomResource: true,
		configv1alpha1.InjectTrustBundle: false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if configv1alpha1.InjectionKind("Secret").VerifiedByAPIServer() {
		t.Error("kube-apiserver verifies by a Secret")
	}
}

func TestNotServedNamesTheKind(t *testing.T) {
	text := NotServed(configv1alpha1.InjectTrustBundle)
	for _, part := range []string{"clustertrustbundles of certificates.k8s.io/v1", "feature gate ClusterTrustBundle", "bundle.injectInto"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}
