// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	frontProxyName = "front-proxy-client"
	// certificateLifetime is longer than any development cluster lives. certrotation does not rotate these
	// certificates.
	certificateLifetime = 10 * 365 * 24 * time.Hour
)

// authority is a CA for one purpose. There are three, so that an etcd client certificate, for example, is no identity
// for kube-apiserver.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// certificates is the directory of the certificates and keys of the control plane's processes, with its CAs.
type certificates struct {
	dir         string
	authorities map[string]authority // by file name without extension: ca, etcd-ca, front-proxy-ca
}

// loadOrMakeCertificates reads dir and makes what is missing. kube-apiserver is reached at the addresses and at the
// loopback. They matter only when its certificate is made.
func loadOrMakeCertificates(dir string, addresses ...net.IP) (*certificates, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &certificates{dir: dir, authorities: map[string]authority{}}
	for _, name := range []string{"ca", "etcd-ca", "front-proxy-ca"} {
		if err := c.ensure(name, name, &x509.Certificate{
			Subject: pkix.Name{CommonName: "certrotation test " + name}, IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}); err != nil {
			return nil, err
		}
	}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	local := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, leaf := range []struct {
		name, signer string
		template     *x509.Certificate
	}{
		{"apiserver", "ca", &x509.Certificate{
			Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: both[:1], IPAddresses: slices.Concat(local, []net.IP{net.IPv4(10, 96, 0, 1)}, addresses),
			DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		}},
		{"admin", "ca", clientTemplate("kubernetes-admin", "system:masters")},
		{"kubelet-client", "ca", clientTemplate("kube-apiserver-kubelet-client", "system:masters")},
		{"etcd-server", "etcd-ca", &x509.Certificate{
			Subject: pkix.Name{CommonName: "etcd"}, ExtKeyUsage: both, IPAddresses: local, DNSNames: []string{"localhost"},
		}},
		{"etcd-client", "etcd-ca", clientTemplate("kube-apiserver-etcd-client")},
		{"front-proxy-client", "front-proxy-ca", clientTemplate(frontProxyName)},
	} {
		if err := c.ensure(leaf.name, leaf.signer, leaf.template); err != nil {
			return nil, err
		}
	}
	return c, c.ensureServiceAccountKey()
}

func clientTemplate(user string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func (c *certificates) path(file string) string { return filepath.Join(c.dir, file) }

func (c *certificates) pool(name string) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.authorities[name].cert)
	return pool
}

// ensure makes NAME.crt and NAME.key unless they exist. A CA signs itself and becomes one of the authorities. It
// writes the key first, because an existing certificate file counts as complete.
func (c *certificates) ensure(name, signer string, template *x509.Certificate) error {
	certPEM, err := os.ReadFile(c.path(name + ".crt"))
	var keyPEM []byte
	switch {
	case err == nil:
		keyPEM, err = os.ReadFile(c.path(name + ".key"))
	case errors.Is(err, fs.ErrNotExist):
		certPEM, keyPEM, err = c.issue(signer, template)
		if err == nil {
			err = errors.Join(writeFile(c.path(name+".key"), keyPEM, 0o600), writeFile(c.path(name+".crt"), certPEM, 0o644))
		}
	}
	if err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	if !template.IsCA {
		return nil
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", c.path(name+".crt"), err)
	}
	c.authorities[name] = authority{cert: pair.Leaf, key: pair.PrivateKey.(crypto.Signer)}
	return nil
}

// issue makes a key and a certificate, both in PEM. If the signer does not exist yet, the certificate signs itself.
func (c *certificates) issue(signer string, template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	// 127 random bits make a number that is positive and at most 16 bytes long.
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, err
	}
	template.NotBefore = time.Now().Add(-time.Minute)
	template.NotAfter = template.NotBefore.Add(certificateLifetime)
	template.KeyUsage |= x509.KeyUsageDigitalSignature
	parent, signed := c.authorities[signer]
	if !signed {
		parent = authority{cert: template, key: key}
	} else if template.NotAfter.After(parent.cert.NotAfter) {
		template.NotAfter = parent.cert.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.cert, key.Public(), parent.key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}

func (c *certificates) ensureServiceAccountKey() error {
	if _, err := os.Stat(c.path("service-accounts.pub")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return errors.Join(
		writeFile(c.path("service-accounts.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
		writeFile(c.path("service-accounts.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644),
	)
}

func (c *certificates) etcdClientTLS() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.path("etcd-client.crt"), c.path("etcd-client.key"))
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: c.pool("etcd-ca"), Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
