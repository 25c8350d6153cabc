// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"net"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/registry/pki"
)

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := pki.GenerateKey(pki.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sound returns a signed request of the node master-0.
func sound(t testing.TB, edit func(*x509.CertificateRequest)) []byte {
	t.Helper()
	template := &x509.CertificateRequest{
		Subject:     pkix.Name{Organization: []string{EtcdServer.Organization()}, CommonName: EtcdServer.CommonName("master-0")},
		DNSNames:    []string{"master-0"},
		IPAddresses: []net.IP{net.ParseIP("10.0.0.10")},
	}
	if edit != nil {
		edit(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockRequest, Bytes: der})
}

func soundObject(t testing.TB) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "sound", Labels: map[string]string{"a": "b"}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: sound(t, nil), SignerName: EtcdServer.SignerName(), Usages: []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth},
			ExpirationSeconds: new(int32(3600)),
		},
	}
}

func policy() Policy {
	nodes := &Nodes{Nodes: []Node{{Name: "master-0", Names: Names{IPAddresses: []string{"10.0.0.10"}}}}}
	return Policy{Nodes: nodes, Validity: map[Profile]time.Duration{EtcdPeer: time.Hour, EtcdServer: 24 * time.Hour, EtcdMetric: time.Hour}}
}

func bootstrapper() Requester { return Requester{Name: "x", Groups: []string{GroupBootstrappers}} }

// FuzzParseRequest: every input is either refused with a Refusal of bounded length, or parsed. A parsed request
// has one organization, one common name, alternative names, and a key that is strong enough.
func FuzzParseRequest(f *testing.F) {
	request := sound(f, nil)
	for _, seed := range [][]byte{
		nil, request, request[:len(request)/2], append(bytes.Clone(request), request...), bytes.ReplaceAll(request, []byte("\n"), []byte("\r\n")),
		sound(f, func(r *x509.CertificateRequest) {
			r.Subject.Organization = append(r.Subject.Organization, "system:masters")
		}),
		sound(f, func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} }),
		sound(f, func(r *x509.CertificateRequest) { r.DNSNames, r.IPAddresses = nil, nil }),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkRequest(t, data)
	})
}

// FuzzParseRequestDER fuzzes the DER inside the PEM block.
func FuzzParseRequestDER(f *testing.F) {
	block, _ := pem.Decode(sound(f, nil))
	f.Add(block.Bytes)
	f.Fuzz(func(t *testing.T, der []byte) {
		checkRequest(t, pem.EncodeToMemory(&pem.Block{Type: blockRequest, Bytes: der}))
	})
}

func checkRequest(t *testing.T, data []byte) {
	t.Helper()
	request, err := parseRequest(data)
	if err != nil {
		checkRefusal(t, err)
		return
	}
	if request.Organization == "" && request.CommonName == "" {
		t.Error("a subject without anything is accepted")
	}
	if len(request.DNSNames)+len(request.IPAddresses) == 0 || !pki.AlgorithmOf(request.PublicKey).Valid() || request.PublicKeyHash == "" {
		t.Errorf("accepted: %+v", request)
	}
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	refusal := RefusalOf(err)
	if refusal == nil {
		t.Fatalf("%v is no refusal", err)
	}
	if refusal.Reason == "" || refusal.Message == "" || len(refusal.Message) > 4096 || strings.Contains(refusal.Message, "\n") {
		t.Errorf("refusal %+v", refusal)
	}
}

// FuzzDecide decodes a body in both encodings, and checks approved requests against the policy.
func FuzzDecide(f *testing.F) {
	object := soundObject(f)
	asJSON, err := json.Marshal(object)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(asJSON)
	f.Add(asProtobuf(f, object))
	f.Add([]byte(`{"metadata":{"name":"../x"},"spec":{"signerName":"certrotation.dev/etcd-peer"}}`))
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: 2 * time.Hour}, testNow())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func([]byte) (*certificatesv1.CertificateSigningRequest, error){DecodeObject, DecodeProtobuf} {
			object, err := decode(data)
			if err != nil {
				checkRefusal(t, err)
				continue
			}
			approval, err := policy().Decide(object, bootstrapper())
			if err != nil {
				checkRefusal(t, err)
				continue
			}
			leaf, err := approval.Sign(ca, testNow())
			if err != nil {
				t.Fatalf("approved and not signed: %v", err)
			}
			checkLeaf(t, leaf, ca.Certificate)
		}
	})
}

// checkLeaf checks what the policy guarantees for every signed leaf.
func checkLeaf(t *testing.T, leaf, ca *pki.Certificate) {
	t.Helper()
	for _, name := range leaf.DNSNames {
		if name != "master-0" {
			t.Errorf("DNS name %q", name)
		}
	}
	for _, address := range leaf.IPAddresses {
		if address != "10.0.0.10" {
			t.Errorf("address %s", address)
		}
	}
	if len(leaf.Organizations) != 1 || !strings.HasPrefix(leaf.Organizations[0], "system:etcd-") || leaf.IsCA || leaf.NotAfter.After(ca.NotAfter) {
		t.Errorf("leaf %s until %s", leaf.Subject, leaf.NotAfter)
	}
}

func testNow() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func asProtobuf(t testing.TB, object *certificatesv1.CertificateSigningRequest) []byte {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: TypeMeta().APIVersion, Kind: TypeMeta().Kind}, Raw: raw}
	data, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(protobufMagic), data...)
}
