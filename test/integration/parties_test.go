// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
)

// partiesConfiguration is a trust domain whose parties are servers and clients of each other, and a client.
const partiesConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: parties}
spec:
  trustDomains:
  - name: parties
    signer: {secretName: parties-signer}
    bundle: {configMapName: parties-bundle}
    leaves:
    - {secretName: nginx, dnsNames: [localhost, nginx.parties.svc], usages: [ServerAuth, ClientAuth]}
    - {secretName: haproxy, dnsNames: [haproxy.parties.svc], usages: [ServerAuth, ClientAuth]}
    - {secretName: java, dnsNames: [java.parties.svc], usages: [ServerAuth, ClientAuth]}
    - {secretName: client, commonName: client, usages: [ClientAuth]}
    relyingParties:
    - {name: nginx, presents: [nginx], evidence: {kind: acknowledgement}}
    - {name: haproxy, presents: [haproxy], evidence: {kind: acknowledgement}}
    - {name: java, presents: [java], evidence: {kind: acknowledgement}}
    - {name: client, verifies: {usages: [ServerAuth]}, presents: [client], evidence: {kind: acknowledgement}}
`

const (
	partiesNamespace = "parties"
	partiesSigner    = "parties-signer"
	// requestsOfEach is how many requests are answered before the files of each party change.
	requestsOfEach = 20
)

// TestExtendedParties rotates the CA of nginx, HAProxy and a Java program that call each other in a ring, while a
// client sends requests around. Each program reads only its own Secret, and verifies by its ca.crt. An agent beside
// each tells it to reload, and acknowledges what it then shows.
//
// No request fails, and afterwards no Secret, file or program has the former CA.
func TestExtendedParties(t *testing.T) {
	t.Parallel()
	r := newRing(t)
	old := r.activePair(t)
	stranger := clientLeaf(t, old)
	for _, party := range r.servers {
		eventually(t, party.name+" accepts a leaf of the CA", func(ctx context.Context) error { return party.accepts(ctx, stranger) })
	}

	requests := r.sendRequests(t)
	r.volumes.await(requests)
	rotations := r.own.CertrotationV1alpha1().CertificateRotations(partiesNamespace)
	if _, err := rotations.Rotate(t.Context(), partiesSigner, &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the CA is rotated", func(ctx context.Context) error {
		now, err := rotations.Get(ctx, partiesSigner, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.Status.Stage != v1alpha1.StageStable || now.Status.Certificate.Fingerprint == string(old.Certificate.Fingerprint) {
			return fmt.Errorf("it is %s: %+v", now.Status.Stage, now.Status.Blockers)
		}
		return nil
	})
	next := r.activePair(t).Certificate
	eventually(t, "no Secret, bundle or file has another anchor", func(ctx context.Context) error { return r.hasOnly(ctx, next) })
	for _, party := range r.servers {
		eventually(t, party.name+" has the new CA alone", func(ctx context.Context) error { return party.hasOnly(ctx, next) })
		eventually(t, party.name+" refuses a leaf of the former CA", func(ctx context.Context) error { return party.refuses(ctx, stranger) })
	}
	eventually(t, "requests are answered afterwards", func(ctx context.Context) error { return requests.awaitMore(ctx, requestsOfEach) })
	requests.want(t)
}

// ring is a trust domain with its programs.
type ring struct {
	*plane

	namespace, signer, bundle string

	volumes *volumes
	servers []*party
	ports   map[string]int
}

func newRing(t *testing.T) *ring {
	t.Helper()
	r := &ring{
		plane: workingPlane.use(t), namespace: partiesNamespace, signer: partiesSigner, bundle: "parties-bundle", servers: partyPrograms(),
		ports: freePorts(t, "nginx", "haproxy", "java", "reload"),
	}
	makeNamespace(t, r.client, partiesNamespace)
	configure(t, r.own, partiesNamespace, partiesConfiguration)
	r.start(t)
	r.startAgents(t)
	return r
}

// start returns when the programs serve.
func (r *ring) start(t *testing.T) {
	t.Helper()
	leaves := []string{"client"}
	for _, party := range r.servers {
		leaves = append(leaves, party.leaf)
	}
	r.volumes = followSecrets(t, r.client, r.namespace, leaves...)
	r.startParties(t)
}

// activePair returns the active CA.
func (r *ring) activePair(t *testing.T) *pki.Pair {
	t.Helper()
	secret, err := r.client.CoreV1().Secrets(r.namespace).Get(t.Context(), r.signer, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := pki.ParsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// clientLeaf issues a leaf that no Secret has.
func clientLeaf(t *testing.T, ca *pki.Pair) *tls.Certificate {
	t.Helper()
	pair, err := ca.Issue(pki.Profile{
		CommonName: "client", Key: pki.ECDSAP256, Validity: time.Hour, Backdate: time.Minute, Usages: []pki.Usage{pki.ClientAuth},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := dial.Certificate(pair)
	if err != nil {
		t.Fatal(err)
	}
	return &certificate
}

// hasOnly returns an error unless this is the only anchor in the bundle, beside each leaf, and in each volume.
func (r *ring) hasOnly(ctx context.Context, anchor *pki.Certificate) error {
	bundle, err := r.client.CoreV1().ConfigMaps(r.namespace).Get(ctx, r.bundle, metav1.GetOptions{})
	if err != nil {
		return err
	}
	found := map[string]string{"the bundle": bundle.Data["ca-bundle.crt"]}
	secrets, err := r.client.CoreV1().Secrets(r.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if _, mounted := r.volumes.of[secret.Name]; mounted {
			found["Secret "+secret.Name] = string(secret.Data[corev1.ServiceAccountRootCAKey])
		}
	}
	if len(found) != 1+len(r.volumes.of) {
		return fmt.Errorf("there are %d Secrets", len(secrets.Items))
	}
	for name, volume := range r.volumes.of {
		text, err := os.ReadFile(volume.Path("ca.crt"))
		if err != nil {
			return err
		}
		found["the volume of "+name] = string(text)
	}
	var errs []error
	for where, text := range found {
		anchors, err := pki.ParseBundle([]byte(text))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		} else if len(anchors) != 1 || anchors[0].Fingerprint != anchor.Fingerprint {
			errs = append(errs, fmt.Errorf("%s has %d anchors", where, len(anchors)))
		}
	}
	return errors.Join(errs...)
}
