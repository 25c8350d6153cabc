// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"bytes"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/csr"
	"certrotation.dev/registry/pki"
)

// profiled returns a sound request of a profile for the node master-0.
func profiled(t *testing.T, profile csr.Profile, usages ...certificatesv1.KeyUsage) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	out := object("sound", ask(t, nodeKey(t), func(r *x509.CertificateRequest) {
		r.Subject.Organization, r.Subject.CommonName = []string{profile.Organization()}, profile.CommonName(testNode)
	}))
	out.Spec.SignerName, out.Spec.Usages = profile.SignerName(), usages
	return out
}

func TestSign(t *testing.T) {
	server, client := certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth
	for name, tc := range map[string]struct {
		profile csr.Profile
		usages  []certificatesv1.KeyUsage
		seconds *int32
		ca      func(*world) *pki.Pair
		caLeft  time.Duration
		want    []pki.Usage
		lives   time.Duration
	}{
		"peer": {
			profile: csr.EtcdPeer, usages: []certificatesv1.KeyUsage{server, client},
			want: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, lives: defaultValidity,
		},
		"server": {
			profile: csr.EtcdServer, usages: []certificatesv1.KeyUsage{client, server, certificatesv1.UsageDigitalSignature},
			want: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, lives: defaultValidity,
		},
		"server asks for less": {
			profile: csr.EtcdServer, usages: []certificatesv1.KeyUsage{server}, want: []pki.Usage{pki.ServerAuth}, lives: defaultValidity,
		},
		"metric by the metric CA": {
			profile: csr.EtcdMetric, usages: []certificatesv1.KeyUsage{server}, ca: func(w *world) *pki.Pair { return w.metricCA },
			want: []pki.Usage{pki.ServerAuth}, lives: defaultValidity,
		},
		"shortest": {
			profile: csr.EtcdPeer, usages: []certificatesv1.KeyUsage{server}, seconds: new(int32(600)), want: []pki.Usage{pki.ServerAuth}, lives: 10 * time.Minute,
		},
		"asks for more than the profile has": {
			profile: csr.EtcdPeer, usages: []certificatesv1.KeyUsage{server}, seconds: new(int32(1 << 30)), want: []pki.Usage{pki.ServerAuth}, lives: defaultValidity,
		},
		"the CA ends first": {
			profile: csr.EtcdPeer, usages: []certificatesv1.KeyUsage{server}, caLeft: 48 * time.Hour, want: []pki.Usage{pki.ServerAuth}, lives: 48 * time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				if tc.caLeft > 0 {
					w.ca = w.authority("etcd", tc.caLeft)
					w.files("ca", w.ca)
				}
			})
			asked := profiled(t, tc.profile, tc.usages...)
			asked.Spec.ExpirationSeconds = tc.seconds
			asked.Spec.Username = "somebody-else"
			asked.Status.Certificate = []byte("forged")
			code, got, status := w.post(asked)
			if code != http.StatusCreated {
				t.Fatalf("code %d: %v", code, status)
			}
			leaf := csr.Issued(got)
			if leaf == nil {
				t.Fatalf("the certificate cannot be read: %s", got.Status.Certificate)
			}
			ca := w.ca
			if tc.ca != nil {
				ca = tc.ca(w)
			}
			if !leaf.SignedBy(ca.Certificate) || leaf.IsCA {
				t.Errorf("it is signed by %s, want %s", leaf.Issuer, ca.Certificate.Subject)
			}
			if lives := leaf.NotAfter.Sub(w.clock.Now()); lives != tc.lives {
				t.Errorf("it lives %s, want %s", lives, tc.lives)
			}
			if diff := cmp.Diff(tc.want, leaf.Usages); diff != "" {
				t.Errorf("usages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"localhost", testNode, "master-0.example"}, leaf.DNSNames); diff != "" {
				t.Errorf("DNS names (-want +got):\n%s", diff)
			}
			if leaf.CommonName != tc.profile.CommonName(testNode) || !cmp.Equal(leaf.Organizations, []string{tc.profile.Organization()}) {
				t.Errorf("subject %s", leaf.Subject)
			}
			if got.Spec.Username != "system:bootstrap" || got.UID == "" || got.ResourceVersion == "" || got.CreationTimestamp.IsZero() {
				t.Errorf("metadata %+v of %q", got.ObjectMeta, got.Spec.Username)
			}
			if len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Type != certificatesv1.CertificateApproved {
				t.Errorf("conditions %v", got.Status.Conditions)
			}
			response, data := w.call(http.MethodGet, collection+"/sound", nil, nil)
			if _, read, _ := decode(t, response.StatusCode, data); read == nil || !bytes.Equal(read.Status.Certificate, got.Status.Certificate) {
				t.Errorf("GET answers %d %s", response.StatusCode, data)
			}
			if logged := w.lastDecision(); logged.Decision != "signed" || logged.Fingerprint != string(leaf.Fingerprint) || logged.Node != testNode {
				t.Errorf("decisions.log ends with %+v", logged)
			}
			w.checkStorage()
		})
	}
}

func TestSignEveryKindOfKey(t *testing.T) {
	w := newWorld(t, nil)
	for _, algorithm := range pki.KeyAlgorithms() {
		key, err := pki.GenerateKey(algorithm)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := release(w.options.StorageDir, testNode, csr.EtcdPeer, w.clock.Now()); err != nil {
			t.Fatal(err)
		}
		name := "key-" + string(bytes.ToLower([]byte(algorithm)))
		if code, _, status := w.post(object(name, ask(t, key, nil))); code != http.StatusCreated {
			t.Errorf("%s: code %d: %v", algorithm, code, status)
		}
	}
}

func TestNames(t *testing.T) {
	w := newWorld(t, nil)
	first, second := object("name", ask(t, nodeKey(t), nil)), object("name", ask(t, newKey(t), nil))
	refused := object("name", ask(t, nodeKey(t), func(r *x509.CertificateRequest) { r.DNSNames = []string{"evil"} }))

	if code, _, _ := w.post(refused); code != http.StatusForbidden {
		t.Fatalf("a foreign name: code %d, want 403", code)
	}
	code, signed, status := w.post(first)
	if code != http.StatusCreated {
		t.Fatalf("a sound request in the place of a denial: code %d: %v", code, status)
	}
	for name, other := range map[string]*certificatesv1.CertificateSigningRequest{"another key": second, "a refused one": refused} {
		code, _, status := w.post(other)
		if code != http.StatusConflict || status.Reason != metav1.StatusReasonAlreadyExists {
			t.Errorf("%s under a name that was signed: code %d, reason %s, want 409 AlreadyExists", name, code, status.Reason)
		}
	}
	longer := first.DeepCopy()
	longer.Spec.ExpirationSeconds = new(int32(7200))
	if code, _, _ := w.post(longer); code != http.StatusConflict {
		t.Errorf("another life under a name that was signed: code %d, want 409", code)
	}
	code, again, _ := w.post(first)
	if code != http.StatusOK || !bytes.Equal(again.Status.Certificate, signed.Status.Certificate) || again.UID != signed.UID {
		t.Errorf("the same request again: code %d, the same certificate %t", code, bytes.Equal(again.Status.Certificate, signed.Status.Certificate))
	}

	// Records outlive the process.
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.start()
	if code, again, _ = w.post(first); code != http.StatusOK || !bytes.Equal(again.Status.Certificate, signed.Status.Certificate) {
		t.Errorf("the same request after a restart: code %d", code)
	}
	// Do not return a stored certificate of a former CA: sign again.
	w.ca = w.authority("etcd-2", caYears)
	w.files("ca", w.ca)
	if code, again, _ = w.post(first); code != http.StatusCreated || !csr.Issued(again).SignedBy(w.ca.Certificate) {
		t.Errorf("the same request after the CA was replaced: code %d, want 201 and a certificate of the new CA", code)
	}
}
