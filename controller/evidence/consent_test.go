// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// TestKeysWithoutConsent: a probe presents no key of a Secret without consent, and signs with none, even if the
// cache still has the consent.
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
			api := apifake.New(t, clock.RealClock{})
			for _, object := range []runtime.Object{signerSecret(t, ca, nil), clientSecret(t, leaf)} {
				secret := object.(*corev1.Secret)
				secret.Annotations = map[string]string{trust.AnnotationConfiguration: configuration}
				if err := api.Put(secret); err != nil {
					t.Fatal(err)
				}
			}
			client := api.Client
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
