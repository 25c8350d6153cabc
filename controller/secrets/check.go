// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/pki"
)

// check refuses a Secret whose data do not match a request, as far as that can be told. An immutable Secret was not
// edited; of any other one, the private key is checked too.
func check(r *request, secret *corev1.Secret) error {
	for _, key := range needs(r.config) {
		if len(secret.Data[key]) == 0 {
			return fmt.Errorf("it has no %s: %w", key, ErrEditedSecret)
		}
	}
	if key, content := fixed(r.config); key != "" && !bytes.Equal(secret.Data[key], content) {
		return fmt.Errorf("%s has other content: %w", key, ErrEditedSecret)
	}
	certificate := certificateOf(r.config)
	if certificate == nil || certificate.CertType == "" {
		return nil
	}
	own := ownCertificate(r.config, secret)
	switch {
	case own == nil:
		return fmt.Errorf("%s has no certificate that can be read: %w", certificateKey(r.config), ErrEditedSecret)
	case certificate.CertType == kinds.CACert && !own.IsCA:
		return fmt.Errorf("%s: %w: %w", certificateKey(r.config), pki.ErrNotCA, ErrEditedSecret)
	case secret.Immutable != nil && *secret.Immutable && secret.UID != "":
		return nil
	}
	return checkKey(r.config, secret)
}

func checkKey(config kinds.Config, secret *corev1.Secret) error {
	key := privateKey(config)
	if key == "" {
		return nil
	}
	if _, err := pki.CheckPair(secret.Data[certificateKey(config)], secret.Data[key]); err != nil {
		return fmt.Errorf("%s: %w: %w", key, err, ErrEditedSecret)
	}
	return nil
}

// ownCertificate returns the certificate that the configuration describes, nil if it cannot be read.
func ownCertificate(config kinds.Config, secret *corev1.Secret) *pki.Certificate {
	chain, err := pki.ParseChain(secret.Data[certificateKey(config)])
	if err != nil {
		return nil
	}
	return chain[0]
}

// privateKey is the data key of a certificate's private key, "" if the Secret has none.
func privateKey(config kinds.Config) string {
	certificate := certificateOf(config)
	_, alone := config.(*kinds.CertificateSecretConfig)
	switch {
	case certificate.KeyOutside || len(certificate.RequestPEM) > 0:
		return ""
	case !alone:
		return kinds.ControlPlaneSecretDataKeyPrivateKey(config.GetName())
	case certificate.CertType == kinds.CACert && certificate.SigningCA == nil:
		return kinds.DataKeyPrivateKeyCA
	}
	return kinds.DataKeyPrivateKey
}

// fixed is the content that follows from a configuration, and its data key; "" for what is made at random.
func fixed(config kinds.Config) (key string, content []byte) {
	switch config := config.(type) {
	case *kinds.CertificateBundleSecretConfig:
		return kinds.DataKeyCertificateBundle, bytes.Join(config.CertificatePEMs, nil)
	case *kinds.RSAPrivateKeyBundleSecretConfig:
		return kinds.DataKeyPrivateKeyBundle, bytes.Join(config.PrivateKeyPEMs, nil)
	}
	return "", nil
}

// needs returns the data keys without which a Secret of this kind is of no use.
func needs(config kinds.Config) []string {
	switch config := config.(type) {
	case *kinds.CertificateSecretConfig:
		if config.CertType == "" {
			return []string{kinds.DataKeyCertificateCA}
		}
		keys := []string{certificateKey(config)}
		if key := privateKey(config); key != "" {
			keys = append(keys, key)
		}
		return keys
	case *kinds.RSASecretConfig:
		return []string{kinds.DataKeyRSAPrivateKey}
	case *kinds.BasicAuthSecretConfig:
		return []string{kinds.DataKeyUserName, kinds.DataKeyPassword}
	case *kinds.ETCDEncryptionKeySecretConfig:
		return []string{kinds.DataKeyEncryptionKeyName, kinds.DataKeyEncryptionSecret}
	case *kinds.KubeconfigSecretConfig:
		return []string{kinds.DataKeyKubeconfig}
	case *kinds.StaticTokenSecretConfig:
		return []string{kinds.DataKeyStaticTokenCSV}
	case *kinds.VPNTLSAuthConfig:
		return []string{kinds.DataKeyVPNTLSAuth}
	}
	return nil
}
