// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"sync"
	"testing"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// vault has keys that never leave it: what it returns can only sign.
type vault struct {
	mu   sync.Mutex
	keys map[string]crypto.Signer
	err  error
}

func (v *vault) Key(_ context.Context, namespace, secret string, algorithm pki.KeyAlgorithm) (crypto.Signer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return nil, v.err
	}
	name := namespace + "/" + secret
	if v.keys[name] == nil {
		key, err := pki.GenerateKey(algorithm)
		if err != nil {
			return nil, err
		}
		v.keys[name] = key
	}
	return opaque{v.keys[name]}, nil
}

type opaque struct{ crypto.Signer }

// TestKeysOutside rotates an authority with its key in a vault. The cluster never has the key.
func TestKeysOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keys := &vault{keys: map[string]crypto.Signer{}}
	config := authority("ca")
	config.KeyOutside = true
	reconcile := func() string {
		i := w.instance(WithKeys(keys))
		ca := w.generate(i, config, Rotate(KeepOld))
		server := w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca", UseCurrentCA))
		if len(ca.Data) != 1 || ca.Labels[edition.LabelKeyOutside] != "true" || !w.signedBy(server, ca) {
			t.Errorf("%s has %d values", ca.Name, len(ca.Data))
		}
		w.cleanup(i)
		return ca.Name
	}
	first := reconcile()
	w.requests()
	if again := reconcile(); again != first || len(w.requests()) != 1 {
		t.Errorf("it is %s, and then %s", first, again)
	}
	w.times["ca"] = begin
	if second := reconcile(); second == first || len(keys.keys) != 2 {
		t.Errorf("it was rotated as %s, with %d keys", second, len(keys.keys))
	}
	// Without the vault nothing is signed. An error of the vault is returned.
	i := w.instance()
	w.generate(i, config, Rotate(KeepOld))
	if _, err := i.Generate(t.Context(), leaf("x", kinds.ClientCert), SignedByCA("ca")); !errors.Is(err, ErrNoKey) {
		t.Errorf("%v, want %v", err, ErrNoKey)
	}
	keys.err = errors.New("sealed")
	i = w.instance(WithKeys(keys))
	w.generate(i, config, Rotate(KeepOld))
	if _, err := i.Generate(t.Context(), leaf("x", kinds.ClientCert), SignedByCA("ca")); !errors.Is(err, keys.err) {
		t.Errorf("%v, want %v", err, keys.err)
	}
}

// TestRequest: a certificate is made for the key of a request, and the cluster does not have this key.
func TestRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, err := pki.GenerateKey(pki.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	config := leaf("client", kinds.ClientCert)
	config.RequestPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	i := w.instance()
	ca := w.generate(i, authority("ca"))
	client := w.generate(i, config, SignedByCA("ca"))
	if client.Data["tls.key"] != nil || !w.signedBy(client, ca) || w.certificatesOf(client, "tls.crt")[0].KeyAlgorithm != pki.Ed25519 {
		t.Errorf("it has %d values", len(client.Data))
	}
	w.requests()
	i = w.instance()
	w.generate(i, authority("ca"))
	w.generate(i, config, SignedByCA("ca"))
	if got := w.requests(); len(got) != 1 {
		t.Errorf("again it asks for %q", got)
	}
}

// TestControlPlane: a certificate inside another secret is signed, dated and renewed like a separate one.
func TestControlPlane(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := leaf("admin", kinds.ClientCert)
	user.Name = ""
	config := &kinds.ControlPlaneSecretConfig{
		Name: "admin", CertificateSecretConfig: user, KubeConfigRequests: []kinds.KubeConfigRequest{{ClusterName: "c", APIServerHost: "h"}},
	}
	reconcile := func() *Instance {
		i := w.instance()
		w.generate(i, authority("ca"))
		w.generate(i, config, SignedByCA("ca"))
		return i
	}
	made, _ := reconcile().Get("admin")
	own := w.certificatesOf(made, "admin.crt")[0]
	if made.Labels["issued-at-time"] != edition.UnixText(own.NotBefore) || made.Labels["valid-until-time"] != edition.UnixText(own.NotAfter) {
		t.Errorf("from %s to %s", made.Labels["issued-at-time"], made.Labels["valid-until-time"])
	}
	if config.CertificateSecretConfig.SigningCA != nil || config.CertificateSecretConfig.Name != "" {
		t.Error("the configuration was changed")
	}
	w.requests()
	w.pass(day)
	reconcile()
	if got := w.requests(); len(got) != 1 {
		t.Errorf("again it asks for %q", got)
	}
	w.pass(9 * 365 * day)
	if renewed, _ := reconcile().Get("admin"); renewed.Name == made.Name {
		t.Error("it is not renewed")
	}
	plain := w.generate(w.instance(), &kinds.ControlPlaneSecretConfig{Name: "plain", Token: &kinds.Token{Token: "t"}})
	if _, ok := plain.Labels["valid-until-time"]; ok {
		t.Error("without a certificate it has an end")
	}
}
