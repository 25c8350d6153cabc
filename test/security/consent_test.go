// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type listener struct {
	address string
	met     atomic.Int64
}

// listen accepts connections at an address and counts them.
func listen(t *testing.T, address string) *listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	out := &listener{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			out.met.Add(1)
			_ = conn.Close()
		}
	}()
	return out
}

// probing returns a configuration that has an address probed, with the given Secret as its signer.
func probing(signer, address string) string {
	return fmt.Sprintf(`apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: pki}
spec:
  trustDomains:
  - name: pki
    signer: {secretName: %s}
    bundle: {configMapName: pki-ca-bundle}
    leaves:
    - {secretName: pki-server, usages: [ServerAuth], dnsNames: [pki.example]}
    relyingParties:
    - name: server
      verifies: {nothing: true}
      presents: [pki-server]
      evidence: {kind: tlsProbe, tlsProbe: {endpoints: [{address: %q}], serverName: pki.example}}
    - {name: clients, evidence: {kind: none, reason: no process runs in this test}}
`, signer, address)
}

// attackUnmanaged configures a PKI in a namespace that the owner of the cluster has not opted in.
func attackUnmanaged(t *testing.T, w *world) string {
	namespace := w.namespace(t, false)
	dialled := listen(t, net.JoinHostPort(w.listens, "0"))
	w.keep(t, namespace, "existing-ca", authority(t, "somebody's CA"))
	tenant := w.tenant(t, namespace, "tenant", configure())
	configureAs(t, tenant.own, namespace, probing("existing-ca", dialled.address))
	w.honest(t)
	if requests := w.audit.about(t, namespace); len(requests) > 0 {
		return fmt.Sprintf("%d requests to the namespace, first %s", len(requests), requests[0])
	}
	if n := dialled.met.Load(); n > 0 {
		return fmt.Sprintf("%d connections to the address that the configuration names", n)
	}
	return ""
}

const systemMasters = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: pki}
spec:
  trustDomains:
  - name: pki
    signer: {secretName: existing-ca}
    bundle: {configMapName: pki-ca-bundle}
    leaves:
    - {secretName: masters, usages: [ClientAuth], commonName: me, organizations: ["system:masters"]}
    relyingParties:
    - {name: nobody, presents: [masters], evidence: {kind: none, reason: I say so}}
`

// attackExistingCA tries to make an existing, foreign CA in the namespace sign a leaf.
func attackExistingCA(t *testing.T, w *world) string {
	namespace := w.namespace(t, true)
	ca := authority(t, "the cluster's own CA")
	before := w.keep(t, namespace, "existing-ca", ca)
	tenant := w.tenant(t, namespace, "tenant", configure())
	configureAs(t, tenant.own, namespace, systemMasters)

	var achieved string
	eventually(t, "certrotation meets the configuration", func(ctx context.Context) error {
		if leaf := w.secret(t, namespace, "masters"); leaf != nil {
			if signedBy(t, leaf, ca) {
				achieved = "the CA signed a leaf of system:masters"
			}
			return nil
		}
		return w.unadopted(ctx, namespace, "existing-ca")
	})
	w.honest(t)
	if after := w.secret(t, namespace, "existing-ca"); achieved == "" && after.ResourceVersion != before.ResourceVersion {
		return "the CA's Secret was changed"
	}
	return achieved
}

// attackCopies tries to have a foreign key copied to a namespace that accepts copies.
func attackCopies(t *testing.T, w *world) string {
	from := w.namespace(t, true)
	to := w.namespace(t, true, accepts(from+"/Secret/loot")...)
	pair := authority(t, "somebody's server")
	kept := w.keep(t, from, "existing-leaf", pair)
	tenant := w.tenant(t, from, "tenant", configure())
	configureAs(t, tenant.own, from, fmt.Sprintf(`apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: pki}
spec:
  trustDomains:
  - name: pki
    signer: {secretName: pki-signer}
    bundle: {configMapName: pki-ca-bundle}
    leaves:
    - {secretName: existing-leaf, usages: [ServerAuth], dnsNames: [pki.example]}
    - {secretName: own-leaf, usages: [ServerAuth], dnsNames: [pki.example]}
    relyingParties:
    - {name: nobody, presents: [existing-leaf, own-leaf], evidence: {kind: none, reason: I say so}}
  aggregate:
    secretName: all-keys
    leaves: [existing-leaf, own-leaf]
    configMapName: all-bundles
    bundles: [{key: ca.crt, configMapName: pki-ca-bundle}]
  copies:
  - {kind: Secret, name: existing-leaf, toNamespace: %s, toName: loot}
`, to))
	eventually(t, "certrotation meets the configuration", func(ctx context.Context) error {
		if w.secret(t, to, "loot") != nil || !bytes.Equal(w.secret(t, from, "existing-leaf").Data["tls.key"], kept.Data["tls.key"]) {
			return nil
		}
		return w.unadopted(ctx, from, "existing-leaf")
	})
	w.honest(t)
	for _, place := range []struct{ namespace, name string }{{to, "loot"}, {from, "all-keys"}} {
		if secret := w.secret(t, place.namespace, place.name); secret != nil {
			for key, value := range secret.Data {
				if bytes.Equal(value, kept.Data["tls.key"]) {
					return fmt.Sprintf("the key is in %s of %s/%s", key, place.namespace, place.name)
				}
			}
			if place.name == "loot" {
				return "a copy of what nobody gave was made in another namespace"
			}
		}
	}
	if !bytes.Equal(w.secret(t, from, "existing-leaf").Data["tls.key"], kept.Data["tls.key"]) {
		return "the Secret of somebody else was overwritten"
	}
	return ""
}

// attackNamespace tries to write into a namespace that has consented to another name only.
func attackNamespace(t *testing.T, w *world) string {
	from := w.namespace(t, true)
	to := w.namespace(t, true, accepts(from+"/Secret/agreed")...)
	theirs := w.keep(t, to, "theirs", authority(t, "their own"))
	tenant := w.tenant(t, from, "tenant", configure())
	configureAs(t, tenant.own, from, honestConfiguration+fmt.Sprintf(`  copies:
  - {kind: Secret, name: pki-server, toNamespace: %[1]s, toName: agreed}
  - {kind: Secret, name: pki-server, toNamespace: %[1]s, toName: theirs}
  - {kind: Secret, name: pki-server, toNamespace: %[1]s, toName: unasked}
`, to))
	eventually(t, "the copy that was agreed to", func(context.Context) error {
		if w.secret(t, to, "agreed") == nil {
			return errors.New("it does not exist")
		}
		return nil
	})
	w.honest(t)
	if w.secret(t, to, "unasked") != nil {
		return "a Secret was made that the namespace has not agreed to"
	}
	if after := w.secret(t, to, "theirs"); after.ResourceVersion != theirs.ResourceVersion {
		return "a Secret of the namespace was overwritten"
	}
	ns, err := w.admin.CoreV1().Namespaces().Get(t.Context(), to, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ns.Annotations = nil
	if _, err := w.admin.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := within(t, func(context.Context) error {
		// Without the right to delete in that namespace, certrotation empties the copy.
		if copied := w.secret(t, to, "agreed"); copied != nil && len(copied.Data[corev1.TLSPrivateKeyKey]) > 0 {
			return errors.New("it still has the key")
		}
		return nil
	}); err != nil {
		return "the copy stayed after the consent was withdrawn"
	}
	return ""
}
