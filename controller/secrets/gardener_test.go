// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// gardener makes Secrets as Gardener does, from its documentation. Of the tested code it uses only the structural
// hash, which kinds.TestPublishedNames verifies by published vectors.
type gardener struct {
	*world
	// created advances with each Secret, unless equal is true: then all creation times are equal, as after a
	// restore.
	created time.Time
	equal   bool
}

// smallKeys are few, because making a key takes long.
var smallKeys = sync.OnceValue(func() []*rsa.PrivateKey {
	out := make([]*rsa.PrivateKey, 3)
	for i := range out {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil
		}
		out[i] = key
	}
	return out
})

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// checksum of data, as documented: of the checksums of the values, in the order of their keys.
func checksum(data map[string][]byte) string {
	all := ""
	for _, key := range slices.Sorted(maps.Keys(data)) {
		all += sha(string(data[key]))
	}
	return sha(all)
}

// store puts the Secret of a configuration. signer is the Secret of the signing authority, nil for none.
func (g *gardener) store(config kinds.Config, rotation string, bare bool, signer *corev1.Secret, data map[string][]byte, labels map[string]string) *corev1.Secret {
	g.Helper()
	hash, err := edition.StructuralHash(config)
	if err != nil {
		g.Fatalf("%v", err)
	}
	all := map[string]string{
		"name": config.GetName(), "managed-by": "secrets-manager", "manager-identity": identity,
		"checksum-of-config": strconv.FormatUint(hash, 10), "last-rotation-initiation-time": rotation,
		"issued-at-time": strconv.FormatInt(g.created.Unix(), 10),
	}
	infix := all["checksum-of-config"]
	if signer != nil {
		all["checksum-of-signing-ca"] = checksum(signer.Data)[:63]
		infix += all["checksum-of-signing-ca"]
	}
	maps.Copy(all, labels)
	name := config.GetName()
	if !bare {
		name += "-" + sha(infix)[:8]
	}
	if rotation != "" {
		name += "-" + sha(rotation)[:5]
	}
	immutable := true
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, Labels: all, CreationTimestamp: metav1.NewTime(g.created)},
		Data:       data, Immutable: &immutable, Type: corev1.SecretTypeOpaque,
	}
	if data["tls.crt"] != nil && data["tls.key"] != nil {
		secret.Type = corev1.SecretTypeTLS
	}
	if !g.equal {
		g.created = g.created.Add(time.Second)
	}
	g.put(secret)
	return secret
}

// certificate makes a certificate of ten years, as documented, with its key. parent is nil for an authority.
func (g *gardener) certificate(commonName string, usages []x509.ExtKeyUsage, parent *corev1.Secret) (certificate, key []byte, labels map[string]string) {
	g.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		g.Fatalf("%v", err)
	}
	private := smallKeys()[int(serial.Bits()[0]%3)]
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: commonName}, NotBefore: g.created.Add(-time.Minute), NotAfter: g.created.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, BasicConstraintsValid: true, ExtKeyUsage: usages,
	}
	signer, signerKey := template, private
	if parent == nil {
		template.IsCA, template.KeyUsage = true, template.KeyUsage|x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	} else {
		loaded := g.load("parent", parent)
		signer = loaded.Certificate
		signerKey = loaded.PrivateKey.(*rsa.PrivateKey)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &private.PublicKey, signerKey)
	if err != nil {
		g.Fatalf("%v", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM(private), map[string]string{
		"issued-at-time": strconv.FormatInt(template.NotBefore.Unix(), 10), "valid-until-time": strconv.FormatInt(template.NotAfter.Unix(), 10),
	}
}

func keyPEM(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

func (g *gardener) load(name string, ca *corev1.Secret) *kinds.Certificate {
	g.Helper()
	loaded, err := kinds.LoadCertificate(name, ca.Data["ca.key"], ca.Data["ca.crt"])
	if err != nil {
		g.Fatalf("%v", err)
	}
	return loaded
}

func (g *gardener) authority(config *kinds.CertificateSecretConfig, rotation string, bare bool) *corev1.Secret {
	crt, key, labels := g.certificate(fmt.Sprintf("%s@%s", config.Name, rotation), nil, nil)
	labels["persist"] = "true"
	return g.store(config, rotation, bare, nil, map[string][]byte{"ca.crt": crt, "ca.key": key}, labels)
}

// bundle stores the bundle of an authority or an RSA key, with the current edition first.
func (g *gardener) bundle(name string, editions ...*corev1.Secret) *corev1.Secret {
	var certificates, keys [][]byte
	for _, e := range editions {
		certificates, keys = append(certificates, e.Data["ca.crt"]), append(keys, e.Data["id_rsa"])
	}
	labels := map[string]string{"bundle-for": name}
	if certificates[0] != nil {
		config := &kinds.CertificateBundleSecretConfig{Name: name + "-bundle", CertificatePEMs: certificates}
		return g.store(config, "", false, nil, map[string][]byte{"bundle.crt": slices.Concat(certificates...)}, labels)
	}
	config := &kinds.RSAPrivateKeyBundleSecretConfig{Name: name + "-bundle", PrivateKeyPEMs: keys}
	return g.store(config, "", false, nil, map[string][]byte{"bundle.key": slices.Concat(keys...)}, labels)
}

func (g *gardener) leaf(config *kinds.CertificateSecretConfig, ca string, signer *corev1.Secret) *corev1.Secret {
	usage := map[kinds.CertType][]x509.ExtKeyUsage{
		kinds.ServerCert: {x509.ExtKeyUsageServerAuth}, kinds.ClientCert: {x509.ExtKeyUsageClientAuth},
		kinds.ServerClientCert: {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}[config.CertType]
	signed := *config
	signed.SigningCA = g.load(ca, signer)
	if config.CertType == "" {
		return g.store(&signed, "", false, signer, map[string][]byte{"ca.crt": signer.Data["ca.crt"]}, nil)
	}
	crt, key, labels := g.certificate(config.CommonName, usage, signer)
	data := map[string][]byte{"tls.crt": crt, "tls.key": key}
	if !config.SkipPublishingCACertificate {
		data["ca.crt"] = signer.Data["ca.crt"]
	}
	return g.store(&signed, "", false, signer, data, labels)
}

// controlPlane stores a client certificate with a kubeconfig.
func (g *gardener) controlPlane(config *kinds.ControlPlaneSecretConfig, ca string, signer *corev1.Secret) *corev1.Secret {
	certificate, signed := *config.CertificateSecretConfig, *config
	certificate.SigningCA = g.load(ca, signer)
	signed.CertificateSecretConfig = &certificate
	crt, key, labels := g.certificate(certificate.CommonName, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, signer)
	return g.store(&signed, "", false, signer, map[string][]byte{
		"ca.crt": signer.Data["ca.crt"], config.Name + ".crt": crt, config.Name + ".key": key, "kubeconfig": []byte("k"),
	}, labels)
}

func (g *gardener) plain(config kinds.Config, rotation string, data map[string][]byte) *corev1.Secret {
	return g.store(config, rotation, false, nil, data, nil)
}
