// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/certmanager"
	"certrotation.dev/test/kubeletvolume"
)

// gatewayConfiguration is a trust domain whose leaves are cert-manager's, and its CA as the signer says.
const gatewayConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: gateway}
spec:
  trustDomains:
  - name: gateway
    issuer: CertManager
    signer: %s
    bundle: {configMapName: gateway-bundle}
    leaves:
    - {secretName: gateway, issuedSecretName: issued-gateway, dnsNames: [haproxy.parties.svc], usages: [ServerAuth], policy: {backdate: 0s}}
    - {secretName: client, issuedSecretName: issued-client, commonName: issued-client, usages: [ClientAuth], policy: {backdate: 0s}}
    relyingParties:
    - name: haproxy
      verifies: {usages: [ClientAuth]}
      presents: [gateway]
      # The CAs of cert-manager have one subject, so that a list of subjects proves none.
      evidence: {kind: tlsProbe, tlsProbe: {proof: Handshake, interval: 1s, endpoints: [{address: "127.0.0.1:%d", serverName: haproxy.parties.svc}]}}
    - {name: client, verifies: {usages: [ServerAuth]}, presents: [client], evidence: {kind: acknowledgement}}
`

// TestCertManager rotates the CA of a gateway and its client, whose leaves the controllers of cert-manager issue.
func TestCertManager(t *testing.T) {
	t.Parallel()
	p := workingPlane.use(t)
	startCertManager(t, p)
	t.Run("replaces its CA", func(t *testing.T) { replacesItsCA(t, p) })
	t.Run("signs with our CA", func(t *testing.T) { signsWithOurCA(t, p) })
}

func startCertManager(t *testing.T, p *plane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	process, err := certmanager.Start(ctx, p.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(process.Err(), process.Stop(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
}

var gatewayConsent = map[string]string{trust.AnnotationConfiguration: "gateway"}

// issuance is what cert-manager issues in a namespace.
type issuance struct {
	*plane

	namespace string
	dynamic   dynamic.Interface
}

func (r *ring) issuance(t *testing.T) *issuance {
	t.Helper()
	client, err := dynamic.NewForConfig(r.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &issuance{plane: r.plane, namespace: r.namespace, dynamic: client}
}

// signsWithOurCA rotates a CA that certrotation makes, and that an Issuer reads. cert-manager signs with the new one when all have
// loaded it, and is asked for both leaves. No request fails.
func signsWithOurCA(t *testing.T, p *plane) {
	r := newGateway(t, p, "gateway-ours", "{secretName: gateway-signer}")
	s := r.issuance(t)
	s.create(t,
		certmanager.CAIssuer(r.namespace, "ca", r.signer), certmanager.Client(r.namespace, "issued-client", "ca", gatewayConsent),
		certmanager.Leaf(r.namespace, "issued-gateway", "ca", gatewayConsent, "haproxy.parties.svc"))
	r.start(t)
	r.reload(t, r.servers[0])
	old := r.certificate(t, r.signer)
	requests := r.sendRequests(t)
	r.volumes.await(requests)
	if _, err := r.own.CertrotationV1alpha1().CertificateRotations(r.namespace).Rotate(
		t.Context(), r.signer, &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	r.awaitRotated(t, old)
	r.endsWith(t, requests, r.certificate(t, r.signer))
}

// replacesItsCA has cert-manager replace its CA in one write, and renew a client's leaf at once, while the gateway does not reload. The
// client gets that leaf when the gateway has loaded the CA, the gateway's own leaf is issued anew, and no request fails.
func replacesItsCA(t *testing.T, p *plane) {
	r := newGateway(t, p, "gateway", "{secretName: gateway-signer, issuedSecretName: ca}")
	s := r.issuance(t)
	s.create(t,
		certmanager.SelfSignedIssuer(r.namespace, "self-signed"), certmanager.CA(r.namespace, "ca", "self-signed", gatewayConsent),
		certmanager.CAIssuer(r.namespace, "ca", "ca"), certmanager.Client(r.namespace, "issued-client", "ca", gatewayConsent),
		certmanager.Leaf(r.namespace, "issued-gateway", "ca", gatewayConsent, "haproxy.parties.svc"))
	r.start(t)
	reloads := r.reload(t, r.servers[0])
	old := r.certificate(t, r.signer)
	requests := r.sendRequests(t)
	r.volumes.await(requests)

	reloads.pause(true)
	s.reissue(t, "ca")
	next := r.certificate(t, "ca")
	for !r.certificate(t, "issued-client").SignedBy(next) {
		// Until it has seen the Secret of its new CA, cert-manager signs with the former one.
		s.reissue(t, "issued-client")
	}
	rotations := r.own.CertrotationV1alpha1().CertificateRotations(r.namespace)
	eventually(t, "the client's leaf is held", func(ctx context.Context) error {
		now, err := rotations.Get(ctx, r.signer, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, b := range now.Status.Blockers {
			if b.Reason == string(trust.ReasonHeld) && b.Object == "Secret/issued-client" {
				return nil
			}
		}
		return fmt.Errorf("it is %s: %+v", now.Status.Stage, now.Status.Blockers)
	})
	eventually(t, "requests are answered meanwhile", func(ctx context.Context) error { return requests.awaitMore(ctx, requestsOfEach) })
	if leaf := r.certificate(t, "client"); !leaf.SignedBy(old) {
		t.Error("the client has a leaf that the gateway does not accept")
	}
	reloads.pause(false)

	r.awaitRotated(t, old)
	r.endsWith(t, requests, next)
	if key := r.secret(t, r.signer).Data[corev1.TLSPrivateKeyKey]; len(key) > 0 {
		t.Error("the key of cert-manager's CA is in another Secret")
	}
}

// awaitRotated waits until the CA is another one, and at rest.
func (r *ring) awaitRotated(t *testing.T, old *pki.Certificate) {
	t.Helper()
	eventually(t, "the CA is rotated", func(ctx context.Context) error {
		now, err := r.own.CertrotationV1alpha1().CertificateRotations(r.namespace).Get(ctx, r.signer, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.Status.Stage != v1alpha1.StageStable || now.Status.Certificate.Fingerprint == string(old.Fingerprint) {
			return fmt.Errorf("it is %s: %+v", now.Status.Stage, now.Status.Blockers)
		}
		return nil
	})
}

// endsWith asserts that a CA is the only one anywhere, and that no request has failed.
func (r *ring) endsWith(t *testing.T, requests *requests, ca *pki.Certificate) {
	t.Helper()
	eventually(t, "no Secret, bundle or file has another anchor", func(ctx context.Context) error { return r.hasOnly(ctx, ca) })
	eventually(t, "HAProxy has the new CA alone", func(ctx context.Context) error { return r.servers[0].hasOnly(ctx, ca) })
	eventually(t, "requests are answered afterwards", func(ctx context.Context) error { return requests.awaitMore(ctx, requestsOfEach) })
	requests.want(t)
}

// newGateway is a ring of HAProxy alone, with a client.
func newGateway(t *testing.T, p *plane, namespace, signer string) *ring {
	t.Helper()
	haproxy := partyPrograms()[1]
	haproxy.file, haproxy.leaf = "gateway.cfg", "gateway"
	haproxy.args[len(haproxy.args)-1] = "{{.Dir}}/gateway.cfg"
	r := &ring{
		plane: p, namespace: namespace, signer: "gateway-signer", bundle: "gateway-bundle", servers: []*party{haproxy},
		ports: freePorts(t, "haproxy"),
	}
	makeNamespace(t, r.client, r.namespace)
	configure(t, r.own, r.namespace, fmt.Sprintf(gatewayConfiguration, signer, r.ports["haproxy"]))
	return r
}

// reloader tells a program to reload when its files change, as a sidecar does.
type reloader struct{ paused atomic.Bool }

func (r *reloader) pause(paused bool) { r.paused.Store(paused) }

func (r *ring) reload(t *testing.T, p *party) *reloader {
	t.Helper()
	out := &reloader{}
	volume := r.volumes.of[p.leaf]
	loaded := fileOf(t, volume)
	background(t, func(ctx context.Context) {
		every(ctx, 100*time.Millisecond, func() {
			now := fileOf(t, volume)
			if now == loaded || out.paused.Load() {
				return
			}
			loaded = now
			if err := p.process.Signal(syscall.SIGUSR2); err != nil {
				t.Errorf("reload %s: %v", p.name, err)
			}
		})
	})
	return out
}

// fileOf returns what a program reads of its volume.
func fileOf(t *testing.T, volume *kubeletvolume.Volume) string {
	t.Helper()
	var all string
	for _, name := range []string{"tls.crt", "ca.crt"} {
		text, err := os.ReadFile(volume.Path(name))
		if err != nil {
			t.Errorf("read a mounted file: %v", err)
		}
		all += string(text)
	}
	return all
}

func (r *ring) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := r.client.CoreV1().Secrets(r.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// certificate returns the first certificate of a Secret.
func (r *ring) certificate(t *testing.T, name string) *pki.Certificate {
	t.Helper()
	chain, err := pki.ParseChain(r.secret(t, name).Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	return chain[0]
}

func (s *issuance) create(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		resource := certmanager.Certificates
		if object.GetKind() == "Issuer" {
			resource = certmanager.Issuers
		}
		if _, err := s.dynamic.Resource(resource).Namespace(s.namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// reissue has cert-manager issue a Certificate anew, and returns when its Secret has another certificate.
func (s *issuance) reissue(t *testing.T, name string) {
	t.Helper()
	secrets := s.client.CoreV1().Secrets(s.namespace)
	before, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := certmanager.Reissue(t.Context(), s.dynamic, s.namespace, name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "cert-manager issues "+name, func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err == nil && bytes.Equal(secret.Data[corev1.TLSCertKey], before.Data[corev1.TLSCertKey]) {
			err = errors.New("the Secret still has the former certificate")
		}
		return err
	})
}
