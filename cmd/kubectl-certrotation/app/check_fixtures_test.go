// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// made is a certificate with its key, made with any fault.
type made struct {
	parsed *x509.Certificate
	key    crypto.Signer
	cert   []byte
	keyPEM []byte
}

var checkSerial int64

// makeCertificate signs a certificate by another, by itself without one. edit changes the template.
func makeCertificate(t testing.TB, signer *made, name string, edit func(*x509.Certificate)) *made {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return makeOf(t, key, signer, name, edit)
}

func makeOf(t testing.TB, key crypto.Signer, signer *made, name string, edit func(*x509.Certificate)) *made {
	t.Helper()
	checkSerial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(checkSerial), Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: testNow.Add(-time.Hour), NotAfter: testNow.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	edit(template)
	parent, by := template, key
	if signer != nil {
		parent, by = signer.parsed, signer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	out := &made{key: key, cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if out.parsed, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	out.keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
	return out
}

func makeCA(t testing.TB, name string) *made {
	t.Helper()
	return makeCertificate(t, nil, name, ofCA)
}

func ofCA(c *x509.Certificate) {
	c.IsCA, c.KeyUsage, c.NotAfter = true, x509.KeyUsageCertSign, testNow.AddDate(5, 0, 0)
}

func ofServer(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		for _, name := range names {
			if ip := net.ParseIP(name); ip != nil {
				c.IPAddresses = append(c.IPAddresses, ip)
			} else {
				c.DNSNames = append(c.DNSNames, name)
			}
		}
	}
}

func ofClient(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }

func weakRSA(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// checkedFiles are files of a temporary directory.
type checkedFiles map[string][]byte

func (f checkedFiles) write(t testing.TB) string {
	t.Helper()
	directory := t.TempDir()
	for name, data := range f {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func checkedMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// checkedSecret has a ca.crt with the CAs, none without.
func checkedSecret(namespace, name string, cert, key []byte, cas ...*made) *corev1.Secret {
	data := map[string][]byte{"tls.crt": cert, "tls.key": key}
	if len(cas) > 0 {
		data["ca.crt"] = certificatesOf(cas...)
	}
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: checkedMeta(namespace, name), Type: corev1.SecretTypeTLS, Data: data,
	}
}

func checkedConfigMap(namespace, name, key string, data []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: checkedMeta(namespace, name), Data: map[string]string{key: string(data)},
	}
}

func certificatesOf(of ...*made) []byte {
	var out []byte
	for _, m := range of {
		out = append(out, m.cert...)
	}
	return out
}

// manifestOf writes objects as the documents of one file.
func manifestOf(t testing.TB, objects ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes()
}
