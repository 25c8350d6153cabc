// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/pki"
)

// requesting makes the signer an intermediate that has requested its next CA, and returns what its root makes of that.
func requesting(t *testing.T, s *stage) (ca, root *pki.Certificate) {
	t.Helper()
	issuer, err := pki.NewAuthority(pki.Profile{CommonName: "root", Key: pki.ECDSAP256, Validity: 24 * time.Hour, Backdate: time.Hour, Subordinates: true}, s.now)
	if err != nil {
		t.Fatal(err)
	}
	request, _, err := pki.NewRequest(pki.Profile{CommonName: "next", Key: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	s.inventory.known.Domains[0].Signer.Request = request
	der := func(text []byte) []byte {
		block, _ := pem.Decode(text)
		return block.Bytes
	}
	asked, err := x509.ParseCertificateRequest(der(request.PEM()))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := x509.ParseCertificate(issuer.Certificate.DER())
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := issuer.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der(keyPEM))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: asked.Subject, NotBefore: s.now.Add(-time.Minute), NotAfter: s.now.Add(time.Hour), ExtraExtensions: asked.Extensions,
	}, parent, asked.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if ca, err = pki.ParseCertificate(signed); err != nil {
		t.Fatal(err)
	}
	return ca, issuer.Certificate
}

func TestCSR(t *testing.T) {
	s := newStage(t)
	csr := NewCSRREST(s.actions)
	if _, err := csr.Get(requestContext(t, "ns"), "signer", &metav1.GetOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("nothing is requested: %v", err)
	}
	requesting(t, s)
	out, err := csr.Get(requestContext(t, "ns"), "signer", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := out.(*certrotation.SigningRequest).Request
	if request, err := pki.ParseRequest([]byte(text)); err != nil || request.Subject != "CN=next" || strings.Contains(text, "KEY") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := csr.Get(requestContext(t, "ns"), "leaf", &metav1.GetOptions{}); !apierrors.IsBadRequest(err) {
		t.Errorf("of a leaf: %v", err)
	}
}

func TestInstall(t *testing.T) {
	create := func(s *stage, text string, dryRun ...string) error {
		request := &certrotation.AuthorityInstallation{Certificates: text, Reason: "offline root"}
		_, err := NewInstallREST(s.actions).Create(requestContext(t, "ns"), "signer", request, nil, &metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	s := newStage(t)
	ca, root := requesting(t, s)
	other, _ := requesting(t, newStage(t))
	for name, tt := range map[string]struct {
		text    string
		refused func(error) bool
		says    string
	}{
		"nothing":         {"", apierrors.IsInvalid, "certificates: Required"},
		"no PEM":          {"x", apierrors.IsInvalid, "no certificate"},
		"too much":        {strings.Repeat("x", 300<<10), apierrors.IsInvalid, "Too long"},
		"for another key": {string(pki.EncodeCertificates(other, root)), apierrors.IsConflict, "PairMatches: no certificate is for the key of the request"},
		"without a root":  {string(ca.PEM()), apierrors.IsConflict, "TrustBeforeUse: the root of CN=next is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(s, tt.text); !tt.refused(err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	text := string(pki.EncodeCertificates(root, ca))
	if err := create(s, text, metav1.DryRunAll); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := create(s, text); err != nil {
			t.Fatal(err)
		}
	}
	got := s.records(t)["install.signer"]
	if got == nil || !slices.EqualFunc(got.Request.Certificates, []*pki.Certificate{root, ca}, (*pki.Certificate).Equal) || got.Request.Reason != "offline root" {
		t.Errorf("recorded %+v", got)
	}
}
