// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/edition"
)

// TestPublishedNames compares names and checksums with those in Gardener's tests: manager_test.go and
// generate_test.go of its pkg/utils/secrets/manager.
func TestPublishedNames(t *testing.T) {
	t.Parallel()
	const rotated = "1646060228"
	named := &CertificateSecretConfig{Name: "config-name"}
	signed := &CertificateSecretConfig{Name: "config-name", SigningCA: &Certificate{}}
	for name, test := range map[string]struct {
		config Config
		wanted edition.Wanted
		object string
		hash   uint64
	}{
		"a certificate": {config: named, object: "config-name-fd0a3f24", hash: 1645436262831067767},
		"a certificate that was rotated": {
			config: named, wanted: edition.Wanted{Rotation: rotated}, object: "config-name-fd0a3f24-76711", hash: 1645436262831067767,
		},
		"a bare name":                  {config: named, wanted: edition.Wanted{BareName: true}, object: "config-name"},
		"a bare name that was rotated": {config: named, wanted: edition.Wanted{BareName: true, Rotation: rotated}, object: "config-name-76711"},
		"an empty signer": {
			config: signed, wanted: edition.Wanted{Rotation: rotated}, object: "config-name-a9c2fcb9-76711", hash: 17861245496710117091,
		},
		"a signer with a checksum": {
			config: signed, wanted: edition.Wanted{Rotation: rotated, Signer: "checksum"}, object: "config-name-a11a0b2d-76711", hash: 17861245496710117091,
		},
		"an authority": {
			config: &CertificateSecretConfig{Name: "config", CommonName: "my-ca-common-name", CertType: CACert}, object: "config-54620669",
		},
		"an RSA key":       {config: &RSASecretConfig{Name: "config", Bits: 3072}, object: "config-c34363f0"},
		"an RSA SSH key":   {config: &RSASecretConfig{Name: "config", Bits: 3072, UsedForSSH: true}, object: "config-c0d53d4a"},
		"a generator":      {config: &VPNTLSAuthConfig{Name: "vpn", VPNTLSAuthKeyGenerator: func() ([]byte, error) { return nil, nil }}, object: objectOf(t, &VPNTLSAuthConfig{Name: "vpn"})},
		"a key of its own": {config: &CertificateSecretConfig{Name: "config", CommonName: "my-ca-common-name", CertType: CACert, Key: ""}, object: "config-54620669"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hash, err := edition.StructuralHash(test.config)
			if err != nil {
				t.Fatal(err)
			}
			if test.hash != 0 && hash != test.hash {
				t.Errorf("hash %d, want %d", hash, test.hash)
			}
			test.wanted.Name, test.wanted.Config = test.config.GetName(), hash
			if got := test.wanted.ObjectName(); got != test.object {
				t.Errorf("object %s, want %s", got, test.object)
			}
		})
	}
}

func objectOf(t *testing.T, config Config) string {
	t.Helper()
	hash, err := edition.StructuralHash(config)
	if err != nil {
		t.Fatal(err)
	}
	wanted := edition.Wanted{Name: config.GetName(), Config: hash}
	return wanted.ObjectName()
}

// TestNamesOfKinds pins the names of all kinds: renaming or moving a field would rename live Secrets.
func TestNamesOfKinds(t *testing.T) {
	t.Parallel()
	hour := time.Hour
	var lines []string
	for _, config := range []Config{
		&CertificateSecretConfig{
			Name: "full", CommonName: "cn", Organization: []string{"o"}, DNSNames: []string{"a", "b"}, CertType: ServerClientCert, PKCS: PKCS8,
			Validity: &hour, SkipPublishingCACertificate: true, IncludeCACertificateInServerChain: true,
		},
		&CertificateBundleSecretConfig{Name: "ca-bundle", CertificatePEMs: [][]byte{[]byte("new"), []byte("old")}},
		&RSAPrivateKeyBundleSecretConfig{Name: "key-bundle", PrivateKeyPEMs: [][]byte{[]byte("new")}},
		&BasicAuthSecretConfig{Name: "basic", Format: BasicAuthFormatNormal, Username: "admin", PasswordLength: 32},
		&ETCDEncryptionKeySecretConfig{Provider: "aescbc", Name: "encryption", SecretLength: 32},
		&KubeconfigSecretConfig{Name: "kubeconfig", ContextName: "shoot", Namespace: "default"},
		&ControlPlaneSecretConfig{
			Name: "control-plane", CertificateSecretConfig: &CertificateSecretConfig{CertType: ClientCert},
			BasicAuth: &BasicAuth{Username: "u"}, Token: &Token{Token: "t"}, KubeConfigRequests: []KubeConfigRequest{{ClusterName: "c"}},
		},
		&StaticTokenSecretConfig{Name: "tokens", Tokens: map[string]TokenConfig{"a": {Username: "u", UserID: "i", Groups: []string{"g"}}}},
		&VPNTLSAuthConfig{Name: "vpn"},
	} {
		lines = append(lines, objectOf(t, config))
	}
	const want = "full-6c62227a ca-bundle-32eda248 key-bundle-313b67be basic-ad53e0c9 encryption-1dda361c kubeconfig-86fd1b3b control-plane-1ae703b0 " +
		"tokens-ab1e1764 vpn-65a4ba22"
	if got := strings.Join(lines, " "); got != want {
		t.Errorf("names\n%s, want\n%s", got, want)
	}
}
