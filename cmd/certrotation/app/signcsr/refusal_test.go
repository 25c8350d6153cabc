// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"certrotation.dev/registry/csr"
)

// refusalCase changes a sound request so that it is refused, with the expected answer.
type refusalCase struct {
	key     func(t *testing.T) crypto.Signer
	request func(*x509.CertificateRequest)
	bytes   func([]byte) []byte
	object  func(*certificatesv1.CertificateSigningRequest)
	code    int
	reason  csr.Reason
	// message is a part of the answer.
	message string
}

// refusals are requests that the signer must refuse.
func refusals() map[string]refusalCase {
	subject := func(organizations ...string) func(*x509.CertificateRequest) {
		return func(r *x509.CertificateRequest) { r.Subject.Organization = organizations }
	}
	dns := func(names ...string) func(*x509.CertificateRequest) {
		return func(r *x509.CertificateRequest) { r.DNSNames = names }
	}
	extension := func(oid asn1.ObjectIdentifier, value []byte) func(*x509.CertificateRequest) {
		return func(r *x509.CertificateRequest) {
			r.ExtraExtensions = append(r.ExtraExtensions, pkix.Extension{Id: oid, Value: value})
		}
	}
	name := func(name string) func(*certificatesv1.CertificateSigningRequest) {
		return func(o *certificatesv1.CertificateSigningRequest) { o.Name = name }
	}
	usages := func(usages ...certificatesv1.KeyUsage) func(*certificatesv1.CertificateSigningRequest) {
		return func(o *certificatesv1.CertificateSigningRequest) { o.Spec.Usages = usages }
	}
	rsaKey := func(bits int) func(*testing.T) crypto.Signer {
		return func(t *testing.T) crypto.Signer {
			key, err := rsa.GenerateKey(rand.Reader, bits)
			if err != nil {
				t.Fatal(err)
			}
			return key
		}
	}
	const denied, invalid = http.StatusForbidden, http.StatusUnprocessableEntity
	return map[string]refusalCase{
		"wrong organization":        {request: subject("system:masters"), code: denied, reason: csr.SubjectNotAllowed, message: `"system:masters"`},
		"second organization":       {request: subject("system:etcd-peers", "system:masters"), code: denied, reason: csr.SubjectNotAllowed, message: "2 organizations"},
		"second, doubled":           {request: subject("system:etcd-peers", "system:etcd-peers"), code: denied, reason: csr.SubjectNotAllowed, message: "exactly one"},
		"no organization":           {request: subject(), code: denied, reason: csr.SubjectNotAllowed, message: "no organization"},
		"empty organization":        {request: subject(""), code: denied, reason: csr.SubjectNotAllowed, message: `it must be "system:etcd-peers"`},
		"organization of another":   {request: subject("system:etcd-servers"), code: denied, reason: csr.SubjectNotAllowed, message: "system:etcd-servers"},
		"common name of another":    {request: func(r *x509.CertificateRequest) { r.Subject.CommonName = "system:etcd-server:master-0" }, code: denied, reason: csr.SubjectNotAllowed, message: "common name"},
		"common name without node":  {request: func(r *x509.CertificateRequest) { r.Subject.CommonName = "system:etcd-peer:" }, code: denied, reason: csr.SubjectNotAllowed, message: "NODE"},
		"no common name":            {request: func(r *x509.CertificateRequest) { r.Subject.CommonName = "" }, code: denied, reason: csr.SubjectNotAllowed, message: "common name"},
		"organizational unit":       {request: func(r *x509.CertificateRequest) { r.Subject.OrganizationalUnit = []string{"x"} }, code: denied, reason: csr.SubjectNotAllowed, message: "2.5.4.11"},
		"unknown node":              {request: func(r *x509.CertificateRequest) { r.Subject.CommonName = "system:etcd-peer:evil" }, code: denied, reason: csr.NodeNotAllowed, message: `"evil"`},
		"foreign DNS name":          {request: dns("master-0", "kubernetes.default.svc"), code: denied, reason: csr.NameNotAllowed, message: `"kubernetes.default.svc"`},
		"DNS name of another node":  {request: dns("master-1"), code: denied, reason: csr.NameNotAllowed, message: `"master-1"`},
		"wildcard":                  {request: dns("*.example"), code: denied, reason: csr.NameNotAllowed, message: `"*.example"`},
		"foreign address":           {request: func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.ParseIP("10.0.0.99")} }, code: denied, reason: csr.NameNotAllowed, message: "10.0.0.99"},
		"address of another node":   {request: func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.ParseIP("10.0.0.11")} }, code: denied, reason: csr.NameNotAllowed, message: "10.0.0.11"},
		"empty DNS name":            {request: extension(asn1.ObjectIdentifier{2, 5, 29, 17}, []byte{0x30, 0x02, 0x82, 0x00}), code: denied, reason: csr.NameNotAllowed, message: "empty DNS name"},
		"no alternative name":       {request: func(r *x509.CertificateRequest) { r.DNSNames, r.IPAddresses = nil, nil }, code: denied, reason: csr.NameNotAllowed, message: "no alternative name"},
		"URI":                       {request: func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, code: denied, reason: csr.NameNotAllowed, message: "URIs"},
		"e-mail address":            {request: func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} }, code: denied, reason: csr.NameNotAllowed, message: "e-mail"},
		"too many names":            {request: dns(strings.Split(strings.Repeat("localhost,", 64)+"localhost", ",")...), code: denied, reason: csr.NameNotAllowed, message: "more than 64"},
		"asks for a CA":             {request: extension(asn1.ObjectIdentifier{2, 5, 29, 19}, []byte{0x30, 0x03, 0x01, 0x01, 0xff}), code: denied, reason: csr.ExtensionNotAllowed, message: "certificate authority"},
		"unknown extension":         {request: extension(asn1.ObjectIdentifier{1, 2, 3, 4}, []byte{5, 0}), code: denied, reason: csr.ExtensionNotAllowed, message: "1.2.3.4"},
		"RSA of 1024 bits":          {key: rsaKey(1024), code: denied, reason: csr.KeyNotAllowed, message: "RSA-1024"},
		"RSA of an odd size":        {key: rsaKey(2056), code: denied, reason: csr.KeyNotAllowed, message: "RSA-2056"},
		"usage outside the profile": {object: usages(certificatesv1.UsageServerAuth, certificatesv1.UsageCertSign), code: denied, reason: csr.UsageNotAllowed, message: `"cert sign"`},
		"any usage":                 {object: usages(certificatesv1.UsageAny), code: denied, reason: csr.UsageNotAllowed, message: `"any"`},
		"no server usage":           {object: usages(certificatesv1.UsageClientAuth), code: denied, reason: csr.UsageNotAllowed, message: `"server auth"`},
		"no usage":                  {object: usages(), code: denied, reason: csr.UsageNotAllowed, message: `"server auth"`},
		"usage twice":               {object: usages(certificatesv1.UsageServerAuth, certificatesv1.UsageServerAuth), code: invalid, reason: csr.InvalidObject, message: "twice"},
		"unknown signer":            {object: func(o *certificatesv1.CertificateSigningRequest) { o.Spec.SignerName = "kubernetes.io/kubelet-serving" }, code: denied, reason: csr.UnknownSignerName, message: "certrotation.dev/etcd-peer"},
		"signer of another profile": {object: func(o *certificatesv1.CertificateSigningRequest) { o.Spec.SignerName = csr.EtcdMetric.SignerName() }, code: denied, reason: csr.SubjectNotAllowed, message: "system:etcd-metrics"},
		"no signer":                 {object: func(o *certificatesv1.CertificateSigningRequest) { o.Spec.SignerName = "" }, code: invalid, reason: csr.InvalidObject, message: "spec.signerName is required"},
		"name that climbs":          {object: name("../../etc/passwd"), code: invalid, reason: csr.InvalidName, message: `"../../etc/passwd"`},
		"name with a slash":         {object: name("a/b"), code: invalid, reason: csr.InvalidName, message: `"a/b"`},
		"name with a colon":         {object: name("system:etcd-peer:master-0"), code: invalid, reason: csr.InvalidName, message: "metadata.name"},
		"name with a zero byte":     {object: name("a\x00b"), code: invalid, reason: csr.InvalidName, message: "metadata.name"},
		"name of 254 bytes":         {object: name(strings.Repeat("a", 254)), code: invalid, reason: csr.InvalidName, message: "metadata.name"},
		"no name":                   {object: name(""), code: invalid, reason: csr.InvalidName, message: "metadata.name is required"},
		"namespace":                 {object: func(o *certificatesv1.CertificateSigningRequest) { o.Namespace = "x" }, code: invalid, reason: csr.InvalidObject, message: "namespace"},
		"wrong kind":                {object: func(o *certificatesv1.CertificateSigningRequest) { o.Kind = "Secret" }, code: invalid, reason: csr.InvalidObject, message: `"Secret"`},
		"version v1beta1":           {object: func(o *certificatesv1.CertificateSigningRequest) { o.APIVersion = "certificates.k8s.io/v1beta1" }, code: invalid, reason: csr.InvalidObject, message: "v1beta1"},
		"lives too short":           {object: func(o *certificatesv1.CertificateSigningRequest) { o.Spec.ExpirationSeconds = new(int32(599)) }, code: invalid, reason: csr.InvalidExpiration, message: "599"},
		"lives less than nothing":   {object: func(o *certificatesv1.CertificateSigningRequest) { o.Spec.ExpirationSeconds = new(int32(-1)) }, code: invalid, reason: csr.InvalidExpiration, message: "-1"},
		"no request":                {bytes: func([]byte) []byte { return nil }, code: invalid, reason: csr.InvalidRequest, message: "required"},
		"no PEM":                    {bytes: func([]byte) []byte { return []byte("x") }, code: invalid, reason: csr.InvalidRequest, message: "PEM"},
		"two requests":              {bytes: func(b []byte) []byte { return append(bytes.Clone(b), b...) }, code: invalid, reason: csr.InvalidRequest, message: "more than one"},
		"text before":               {bytes: func(b []byte) []byte { return append([]byte("text\n"), b...) }, code: invalid, reason: csr.InvalidRequest, message: "PEM"},
		"a certificate": {bytes: func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("CERTIFICATE REQUEST"), []byte("CERTIFICATE"))
		}, code: invalid, reason: csr.InvalidRequest, message: `"CERTIFICATE"`},
		"huge request": {bytes: func(b []byte) []byte {
			return append(bytes.Clone(b), bytes.Repeat([]byte("\n"), csr.MaxRequestBytes)...)
		}, code: invalid, reason: csr.InvalidRequest, message: "more than 16384"},
		"bad signature": {bytes: flipLast, code: invalid, reason: csr.InvalidSignature, message: "not signed by its own key"},
		"no signature":  {bytes: dropSignature, code: invalid, reason: csr.InvalidSignature, message: "not signed by its own key"},
	}
}

// edited decodes a PEM request, applies edit to its DER, and encodes it again.
func edited(request []byte, edit func(der []byte) []byte) []byte {
	block, _ := pem.Decode(request)
	return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: edit(block.Bytes)})
}

func flipLast(request []byte) []byte {
	return edited(request, func(der []byte) []byte {
		der[len(der)-1] ^= 1
		return der
	})
}

func dropSignature(request []byte) []byte {
	return edited(request, func(der []byte) []byte {
		var parts struct {
			TBS       asn1.RawValue
			Algorithm asn1.RawValue
			Signature asn1.BitString
		}
		if _, err := asn1.Unmarshal(der, &parts); err != nil {
			panic(err)
		}
		parts.Signature = asn1.BitString{}
		out, err := asn1.Marshal(parts)
		if err != nil {
			panic(err)
		}
		return out
	})
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, nil)
	key := nodeKey(t)
	for name, tc := range refusals() {
		t.Run(name, func(t *testing.T) {
			w.t = t
			signer := key
			if tc.key != nil {
				signer = tc.key(t)
			}
			request := ask(t, signer, tc.request)
			if tc.bytes != nil {
				request = tc.bytes(request)
			}
			asked := object("refused", request)
			if tc.object != nil {
				tc.object(asked)
			}
			code, _, status := w.post(asked)
			if code != tc.code || status == nil {
				t.Fatalf("code %d, want %d: %v", code, tc.code, status)
			}
			if !strings.Contains(status.Message, tc.message) {
				t.Errorf("message %q, want one with %q", status.Message, tc.message)
			}
			if status.Details == nil || len(status.Details.Causes) != 1 || string(status.Details.Causes[0].Type) != string(tc.reason) {
				t.Errorf("details %+v, want the cause %s", status.Details, tc.reason)
			}
			logged := w.lastDecision()
			if logged.Decision != "denied" || logged.Reason != tc.reason || logged.Requester != "system:bootstrap" {
				t.Errorf("decisions.log ends with %+v", logged)
			}
			w.checkDenied(asked.Name, tc.reason)
		})
	}
	w.t = t
	w.checkStorage()
}

// checkDenied reads the object again. It has the condition Denied and no certificate, or does not exist.
func (w *world) checkDenied(name string, reason csr.Reason) {
	w.t.Helper()
	if csr.CheckName(name) != nil {
		return
	}
	response, data := w.call(http.MethodGet, collection+"/"+name, nil, nil)
	if response.StatusCode == http.StatusNotFound {
		return
	}
	_, got, _ := decode(w.t, response.StatusCode, data)
	if got == nil || len(got.Status.Certificate) > 0 || len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Type != certificatesv1.CertificateDenied {
		w.t.Fatalf("after a denial (%s) the object is %s", reason, data)
	}
}

func (w *world) lastDecision() decision {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.options.StorageDir, "decisions.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var last decision
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		w.t.Fatal(err)
	}
	return last
}

// checkStorage must hold at any time: every file in the storage has a name of this package and a private mode.
func (w *world) checkStorage() {
	w.t.Helper()
	entries, err := os.ReadDir(w.options.StorageDir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			w.t.Fatal(err)
		}
		name := entry.Name()
		known := name == "lock" || name == "decisions.log" || (strings.HasPrefix(name, "csr-") && len(name) == len("csr-.json")+64) ||
			(strings.HasPrefix(name, "holder-") && len(name) == len("holder-.json")+64)
		if !known || info.Mode().Perm() != 0o600 {
			w.t.Errorf("the storage has %s of mode %s", name, info.Mode())
		}
	}
}
