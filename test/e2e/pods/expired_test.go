// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster/installation"
)

const (
	ownBundle = "certrotation-ca-bundle"
	// yearsOff is how long certrotation was off, so that all its own certificates have expired.
	yearsOff = 10 * 365 * 24 * time.Hour
)

// TestExpired starts certrotation when its own CA and the CA bundle of its APIService have expired long ago.
func TestExpired(t *testing.T) {
	s := theSystem(t)
	s.scaleTo(t, 0, controller, serve)
	then := time.Now().Add(-yearsOff)
	expired, err := pki.NewAuthority(pki.Profile{
		CommonName: pki.GenerationName(installation.Namespace, ownSigner, then), Key: pki.ECDSAP256, Validity: yearsOff / 2,
	}, then)
	if err != nil {
		t.Fatal(err)
	}
	key, err := expired.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	text := expired.CertPEM()
	s.patchOwn(t, "secret", ownSigner, map[string]any{"data": map[string][]byte{corev1.TLSCertKey: text, corev1.TLSPrivateKeyKey: key}})
	s.patchOwn(t, "configmap", ownBundle, map[string]any{"data": map[string]string{"ca-bundle.crt": string(text)}})
	s.patchOwn(t, "apiservice", "v1alpha1.certrotation.dev", map[string]any{"spec": map[string][]byte{"caBundle": text}})

	s.scaleTo(t, 2, controller, serve)
	own := s.of(installation.Namespace, ownSigner)
	until(t, "it has a CA that is valid, and serves", func(ctx context.Context) error {
		row, err := own.row(ctx)
		if err != nil {
			return err
		}
		if c := row.Status.Certificate; c == nil || !c.NotAfter.After(time.Now()) {
			return fmt.Errorf("the CA is %+v", c)
		}
		return nil
	})
	until(t, "the guard judges", func(ctx context.Context) error { return s.edit(ctx, namespace) })
}

func (s *system) patchOwn(t *testing.T, kind, name string, patch any) {
	t.Helper()
	text, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kubectl(t.Context(), "patch", kind, name, "-n", installation.Namespace, "--type=merge", "-p", string(text)); err != nil {
		t.Fatal(err)
	}
}
