// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentities(t *testing.T) {
	profile := leafProfile(Ed25519)
	profile.Usages = []Usage{CodeSigning, ClientAuth, OCSPSigning}
	profile.Identities = Identities{
		URIs: []string{"spiffe://example.org/web", "urn:uuid:1"}, EmailAddresses: []string{"web@example.org"},
		SubjectFields: []string{"OU=platform", "C=DE", "1.3.6.1.4.1.99.1=x=y", "OU=etcd", "DC=example"},
	}
	ca := authorities[Ed25519]()
	leaf, err := ca.Issue(profile, testNow)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, ca, leaf)
	want, err := profile.Normalized()
	if err != nil {
		t.Fatal(err)
	}
	got := leaf.Certificate
	if diff := cmp.Diff(want.Identities, got.Identities); diff != "" || len(got.Unsaid) > 0 {
		t.Errorf("identities (-want +got):\n%s\nunsaid %q", diff, got.Unsaid)
	}
	if diff := cmp.Diff([]Usage{ClientAuth, CodeSigning, OCSPSigning}, got.Usages); diff != "" {
		t.Errorf("usages (-want +got):\n%s", diff)
	}
	other := Identities{URIs: got.Identities.URIs[:1], SubjectFields: []string{"OU=another"}}
	extra, missing := got.Identities.Difference(&other)
	if len(extra) != 7 || !cmp.Equal(missing, []string{"OU=another"}) {
		t.Errorf("extra %q, missing %q", extra, missing)
	}
}

func TestIdentitiesAreRefused(t *testing.T) {
	for _, bad := range []Identities{
		{URIs: []string{"example.org/web"}},
		{URIs: []string{"spiffe://a b"}},
		{EmailAddresses: []string{"web"}},
		{SubjectFields: []string{"platform"}},
		{SubjectFields: []string{"CN=other"}},
		{SubjectFields: []string{"2.5.4.10=other"}},
		{SubjectFields: []string{"2.5.4.11=not by its name"}},
		{SubjectFields: []string{"ou=platform"}},
		{SubjectFields: []string{"OU="}},
		{SubjectFields: []string{"1.99.1=x"}},
		{SubjectFields: []string{"OU=" + strings.Repeat("x", maxSubjectField+1)}},
	} {
		profile := leafProfile(Ed25519)
		profile.Identities = bad
		if _, err := profile.Normalized(); !errors.Is(err, ErrInvalidProfile) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestUnsaid: a certificate of another issuer has what no profile can say.
func TestUnsaid(t *testing.T) {
	otherName := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: []byte{5, 0}}
	names := must(asn1.Marshal([]asn1.RawValue{otherName}))
	cert := forge(t, newECKey(t), authorities[ECDSAP256](), func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageIPSECTunnel}
		c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 3, 6, 1, 4, 1, 99}}
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: names}}
	})
	want := []string{"extended key usage ipsecTunnel", "extended key usage 1.3.6.1.4.1.99", "alternative name of type 0"}
	if diff := cmp.Diff(want, cert.Unsaid); diff != "" {
		t.Errorf("unsaid (-want +got):\n%s", diff)
	}
}
