// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds makes the data of each kind of Secret of Gardener's SecretsManager, from configurations with the same
// names, fields and data keys:
//
//	CertificateSecretConfig, CA                     ca.crt, ca.key (none if the key is outside of the cluster)
//	CertificateSecretConfig, server, client, both   tls.crt, tls.key (none for a request), ca.crt unless SkipPublishingCACertificate
//	CertificateSecretConfig, without a type         ca.crt
//	CertificateBundleSecretConfig                   bundle.crt
//	RSAPrivateKeyBundleSecretConfig                 bundle.key
//	RSASecretConfig                                 id_rsa, and for SSH id_rsa.pub
//	BasicAuthSecretConfig                           username, password, auth
//	ETCDEncryptionKeySecretConfig                   provider, key, secret, encoding
//	KubeconfigSecretConfig                          kubeconfig
//	ControlPlaneSecretConfig                        ca.crt, NAME.crt, NAME.key, username, password, token, kubeconfig
//	StaticTokenSecretConfig                         static_tokens.csv
//	VPNTLSAuthConfig                                vpn.tlsauth
//
// Invariants:
//
//   - The structural hash of a configuration is part of the name of its Secret (registry/edition). So a field keeps
//     its name and its place, none is removed, and the zero value of a new one has no effect. Names of structs are
//     hashed too.
//   - Nothing in this package changes a configuration.
//   - registry/pki makes the certificates: a leaf never outlives its signer, and an expired CA signs nothing.
//   - No error, and no format verb of a Certificate, yields bytes of a key, a password or a token.
//
// Everything is a function of its arguments and of crypto/rand. The package starts no goroutine.
package kinds
