// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// TestKeysWithoutConsent: no probe shows a key of a Secret that does not consent, and nothing is signed with one, whatever the
// cache says.
func TestKeysWithoutConsent(t *testing.T) {
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	profile := pki.Profile{CommonName: "client", Usages: []pki.Usage{pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Minute}
	leaf, err := ca.Issue(profile, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d := domain("localhost:1", leaf.Certificate, ca)
	for name, configuration := range map[string]string{"nobody": "", "another configuration": "other", "the configuration": d.Configuration} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(signerSecret(t, ca, nil), clientSecret(t, leaf))
			for _, name := range []string{"web-signer", "web-client"} {
				object, err := client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("secrets"), testNamespace, name)
				if err != nil {
					t.Fatal(err)
				}
				secret := object.(*corev1.Secret).DeepCopy()
				secret.Annotations = map[string]string{trust.AnnotationConfiguration: configuration}
				if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), secret, testNamespace); err != nil {
					t.Fatal(err)
				}
			}
			consents := configuration == d.Configuration
			_, err := (&signers{client: client, clock: clock.RealClock{}}).Mint(t.Context(), d, ca.Certificate.Fingerprint, profile)
			if consents != (err == nil) || (err != nil && !errors.Is(err, errUnmintable)) {
				t.Errorf("Mint() = %v", err)
			}
			id := &identity{}
			shown, err := (&Collector{client: client}).clientLeaf(t.Context(), d, "web-client", id)
			if err != nil || consents != (shown != nil && id.pair != nil) || consents == strings.Contains(id.failure, "kubectl certrotation adopt -n "+testNamespace) {
				t.Errorf("the client leaf %v is shown, failure %q, error %v", id.pair != nil, id.failure, err)
			}
		})
	}
}
