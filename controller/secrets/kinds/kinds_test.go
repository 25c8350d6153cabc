// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"certrotation.dev/registry/pki"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func generate(t testing.TB, config Config) map[string][]byte {
	t.Helper()
	data, err := config.Generate(now)
	if err != nil {
		t.Fatal(err)
	}
	return data.SecretData()
}

// signer returns an authority loaded from its Secret data.
func signer(t testing.TB, key pki.KeyAlgorithm) *Certificate {
	t.Helper()
	data := generate(t, &CertificateSecretConfig{Name: "ca", CommonName: "ca-1", CertType: CACert, Key: key})
	loaded, err := LoadCertificate("ca", data[DataKeyPrivateKeyCA], data[DataKeyCertificateCA])
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func request(t testing.TB) (pemBytes []byte, public any) {
	t.Helper()
	key, err := pki.GenerateKey(pki.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"not-this-one"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), key.Public()
}

// TestDataKeys compares the data keys of every kind with the documented ones.
func TestDataKeys(t *testing.T) {
	t.Parallel()
	ca := signer(t, pki.ECDSAP256)
	csr, _ := request(t)
	certificate := func(of CertType, change func(*CertificateSecretConfig)) *CertificateSecretConfig {
		out := &CertificateSecretConfig{Name: "n", CommonName: "n", CertType: of, SigningCA: ca, Key: pki.ECDSAP256}
		if change != nil {
			change(out)
		}
		return out
	}
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"an authority":         {certificate(CACert, func(c *CertificateSecretConfig) { c.SigningCA = nil }), "ca.crt ca.key"},
		"a server":             {certificate(ServerCert, nil), "ca.crt tls.crt tls.key"},
		"a client":             {certificate(ClientCert, nil), "ca.crt tls.crt tls.key"},
		"both":                 {certificate(ServerClientCert, nil), "ca.crt tls.crt tls.key"},
		"without its CA":       {certificate(ServerCert, func(c *CertificateSecretConfig) { c.SkipPublishingCACertificate = true }), "tls.crt tls.key"},
		"without a type":       {certificate("", nil), "ca.crt"},
		"of a request":         {certificate(ServerCert, func(c *CertificateSecretConfig) { c.RequestPEM = csr }), "ca.crt tls.crt"},
		"signed by itself":     {certificate(ServerCert, func(c *CertificateSecretConfig) { c.SigningCA = nil }), "tls.crt tls.key"},
		"an intermediate":      {certificate(CACert, nil), "ca.crt tls.crt tls.key"},
		"a bundle":             {&CertificateBundleSecretConfig{Name: "n", CertificatePEMs: [][]byte{[]byte("a"), []byte("b")}}, "bundle.crt"},
		"a bundle of keys":     {&RSAPrivateKeyBundleSecretConfig{Name: "n", PrivateKeyPEMs: [][]byte{[]byte("a")}}, "bundle.key"},
		"an RSA key":           {&RSASecretConfig{Name: "n", Bits: 2048}, "id_rsa"},
		"an SSH key":           {&RSASecretConfig{Name: "n", Bits: 2048, UsedForSSH: true}, "id_rsa id_rsa.pub"},
		"basic authentication": {&BasicAuthSecretConfig{Name: "n", Username: "u", PasswordLength: 32}, "auth password username"},
		"an encryption key":    {&ETCDEncryptionKeySecretConfig{Name: "n", Provider: "aescbc", SecretLength: 32}, "encoding key provider secret"},
		"a kubeconfig":         {&KubeconfigSecretConfig{Name: "n", ContextName: "c"}, "kubeconfig"},
		"a control plane, all": {&ControlPlaneSecretConfig{
			Name: "n", CertificateSecretConfig: certificate(ClientCert, nil), BasicAuth: &BasicAuth{Username: "u", Password: "p"}, Token: &Token{Token: "t"},
			KubeConfigRequests: []KubeConfigRequest{{ClusterName: "c", APIServerHost: "h"}},
		}, "ca.crt kubeconfig n.crt n.key password token username"},
		"a control plane, a token": {&ControlPlaneSecretConfig{Name: "n", Token: &Token{Token: "t"}}, "token"},
		"a control plane, its CA":  {&ControlPlaneSecretConfig{Name: "n", CertificateSecretConfig: certificate("", nil)}, "ca.crt"},
		"static tokens":            {&StaticTokenSecretConfig{Name: "n", Tokens: map[string]TokenConfig{"a": {Username: "u"}}}, "static_tokens.csv"},
		"a VPN key":                {&VPNTLSAuthConfig{Name: "n"}, "vpn.tlsauth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := generate(t, test.config)
			if got := strings.Join(slices.Sorted(maps.Keys(data)), " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			for key, value := range data {
				if len(value) == 0 {
					t.Errorf("%s is empty", key)
				}
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []pki.KeyAlgorithm{"", pki.RSA2048, pki.ECDSAP384, pki.Ed25519} {
		t.Run(string(algorithm), func(t *testing.T) {
			t.Parallel()
			ca := signer(t, algorithm)
			years := 20 * 365 * 24 * time.Hour
			config := &CertificateSecretConfig{
				Name: "n", CommonName: "cn", Organization: []string{"o"}, DNSNames: []string{"b", "a"}, IPAddresses: []net.IP{net.ParseIP("10.0.0.1")},
				CertType: ServerCert, SigningCA: ca, Key: algorithm, Validity: &years, IncludeCACertificateInServerChain: true,
			}
			data := generate(t, config)
			pair, err := pki.ParsePair(data[DataKeyCertificate], data[DataKeyPrivateKey])
			if err != nil {
				t.Fatal(err)
			}
			want := algorithm
			if want == "" {
				want = pki.RSA3072
			}
			leaf := pair.Certificate
			if leaf.KeyAlgorithm != want || ca.Authority().KeyAlgorithm != want || len(pair.Chain) != 1 || !leaf.SignedBy(ca.Authority()) {
				t.Errorf("%s, chain of %d", leaf.KeyAlgorithm, len(pair.Chain))
			}
			if !leaf.NotBefore.Equal(now.Add(-time.Minute)) || !leaf.NotAfter.Equal(ca.Authority().NotAfter) || !leaf.NotAfter.Equal(now.AddDate(10, 0, 0)) {
				t.Errorf("valid from %s to %s", leaf.NotBefore, leaf.NotAfter)
			}
			if fmt.Sprint(leaf.DNSNames, leaf.Usages) != "[a b] [ServerAuth]" {
				t.Errorf("names %q, usages %q", leaf.DNSNames, leaf.Usages)
			}
			config.PKCS = PKCS8
			if block, _ := pem.Decode(generate(t, config)[DataKeyPrivateKey]); block.Type != "PRIVATE KEY" {
				t.Errorf("PKCS#8 is %s", block.Type)
			}
		})
	}
}

// TestRequests: only the key of a request counts, and the request must be signed with it.
func TestRequests(t *testing.T) {
	t.Parallel()
	ca := signer(t, pki.ECDSAP256)
	sound, public := request(t)
	block, _ := pem.Decode(sound)
	forged := bytes.Clone(block.Bytes)
	forged[len(forged)-1] ^= 1
	for name, test := range map[string]struct {
		pem  []byte
		want error
	}{
		"sound":            {sound, nil},
		"two of them":      {append(bytes.Clone(sound), sound...), ErrInvalidRequest},
		"not its own key":  {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: forged}), ErrInvalidRequest},
		"a certificate":    {ca.CertificatePEM, ErrInvalidRequest},
		"no PEM":           {[]byte("x"), ErrInvalidRequest},
		"no request in it": {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")}), ErrInvalidRequest},
		"too long":         {bytes.Repeat([]byte("x"), maxRequest+1), ErrInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := &CertificateSecretConfig{Name: "n", DNSNames: []string{"n"}, CertType: ServerCert, SigningCA: ca, RequestPEM: test.pem}
			data, err := config.Generate(now)
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if err != nil {
				return
			}
			chain, err := pki.ParseChain(data.SecretData()[DataKeyCertificate])
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := x509.ParseCertificate(chain[0].DER())
			if err != nil || !parsed.PublicKey.(*ecdsa.PublicKey).Equal(public.(crypto.PublicKey)) || !slices.Equal(chain[0].DNSNames, []string{"n"}) {
				t.Errorf("%v, names %q", err, chain[0].DNSNames)
			}
		})
	}
}

func TestKeysOfOtherKinds(t *testing.T) {
	t.Parallel()
	keys := generate(t, &RSASecretConfig{Name: "n", Bits: 2048, UsedForSSH: true})
	signer, err := ssh.ParsePrivateKey(keys[DataKeyRSAPrivateKey])
	if err != nil {
		t.Fatal(err)
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(keys[DataKeySSHAuthorizedKeys])
	if err != nil || !bytes.Equal(public.Marshal(), signer.PublicKey().Marshal()) || bytes.HasSuffix(keys[DataKeySSHAuthorizedKeys], []byte("\n")) {
		t.Errorf("the public key is another one: %v", err)
	}
	auth := generate(t, &BasicAuthSecretConfig{Name: "n", Username: "admin", PasswordLength: 32})
	hash, found := bytes.CutPrefix(auth[DataKeyAuth], []byte("admin:"))
	if !found || len(auth[DataKeyPassword]) != 32 || bcrypt.CompareHashAndPassword(hash, auth[DataKeyPassword]) != nil {
		t.Errorf("auth %q is not of a password of %d characters", auth[DataKeyAuth], len(auth[DataKeyPassword]))
	}
	vpn := generate(t, &VPNTLSAuthConfig{Name: "n"})[DataKeyVPNTLSAuth]
	if !regexp.MustCompile(`^-----BEGIN OpenVPN Static key V1-----\n([0-9a-f]{32}\n){16}-----END OpenVPN Static key V1-----$`).Match(vpn) {
		t.Error("it is no key of OpenVPN")
	}
	given := &VPNTLSAuthConfig{Name: "n", VPNTLSAuthKeyGenerator: func() ([]byte, error) { return []byte("k"), nil }}
	if got := generate(t, given); string(got[DataKeyVPNTLSAuth]) != "k" {
		t.Errorf("%q", got)
	}
	given.VPNTLSAuthKeyGenerator = func() ([]byte, error) { return nil, bytes.ErrTooLarge }
	if _, err := given.Generate(now); !errors.Is(err, bytes.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestEncryptionKeys(t *testing.T) {
	t.Parallel()
	made := generate(t, &ETCDEncryptionKeySecretConfig{Name: "n", Provider: "secretbox", SecretLength: 32})
	if got := string(made[DataKeyEncryptionKeyName]); got != "key1772366400" {
		t.Errorf("it is called %s", got)
	}
	legacy := strings.Repeat("a", 32)
	for name, test := range map[string]struct {
		data map[string][]byte
		// bytes is the length of the key that kube-apiserver uses.
		bytes int
		err   error
	}{
		"made today":       {made, 32, nil},
		"without encoding": {map[string][]byte{"key": []byte("key1"), "secret": []byte(legacy)}, 24, nil},
		"no base64":        {map[string][]byte{"key": []byte("key1"), "secret": []byte("***")}, 0, ErrInvalidData},
		"another encoding": {map[string][]byte{"key": []byte("key1"), "secret": []byte("a"), "encoding": []byte("hex")}, 0, ErrInvalidData},
		"no key":           {map[string][]byte{"key": []byte("key1")}, 0, ErrInvalidData},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := LoadETCDEncryptionKey(test.data)
			if !errors.Is(err, test.err) {
				t.Fatalf("%v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			used, err := base64.StdEncoding.DecodeString(key.ConfigurationSecret())
			if err != nil || len(used) != test.bytes {
				t.Errorf("kube-apiserver encrypts with %d bytes, want %d: %v", len(used), test.bytes, err)
			}
			if got := key.SecretData(); !bytes.Equal(got[DataKeyEncryptionSecret], test.data[DataKeyEncryptionSecret]) || len(got) != len(test.data) {
				t.Errorf("it is written as %d values", len(got))
			}
		})
	}
}

func TestStaticTokens(t *testing.T) {
	t.Parallel()
	config := &StaticTokenSecretConfig{Name: "n", Tokens: map[string]TokenConfig{
		"b": {Username: "bob", UserID: "2", Groups: []string{"system:masters", "x"}}, "a": {Username: "ann", UserID: "1", Groups: []string{"one"}}, "c": {Username: "eve"},
	}}
	loaded, err := LoadStaticTokenFromCSV("n", generate(t, config)[DataKeyStaticTokenCSV])
	if err != nil || len(loaded.Tokens) != 3 {
		t.Fatalf("%d tokens, %v", len(loaded.Tokens), err)
	}
	bob, err := loaded.GetTokenForUsername("bob")
	if err != nil || len(bob.Token) != 128 || bob.UserID != "2" || !slices.Equal(bob.Groups, []string{"system:masters", "x"}) {
		t.Errorf("%d characters, %q, %v", len(bob.Token), bob.Groups, err)
	}
	if _, err := loaded.GetTokenForUsername("mallory"); err == nil {
		t.Error("who has no token has one")
	}
	if eve, err := loaded.GetTokenForUsername("eve"); err != nil || eve.Groups != nil {
		t.Errorf("%v, %v", eve, err)
	}
	for _, text := range []string{"only", "a,b", `"a,b,c`} {
		if _, err := LoadStaticTokenFromCSV("n", []byte(text)); !errors.Is(err, ErrInvalidData) || strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKubeconfigs(t *testing.T) {
	t.Parallel()
	ca := signer(t, pki.ECDSAP256)
	client := &CertificateSecretConfig{CommonName: "c", CertType: ClientCert, SigningCA: ca, Key: pki.ECDSAP256}
	requests := []KubeConfigRequest{{ClusterName: "inside", APIServerHost: "api", CAData: []byte("x")}, {ClusterName: "outside", APIServerHost: "api.example"}}
	for name, test := range map[string]struct {
		config                Config
		context, server, user string
	}{
		"alone": {&KubeconfigSecretConfig{
			Name: "n", ContextName: "shoot", Cluster: clientcmdv1.Cluster{Server: "api"}, AuthInfo: clientcmdv1.AuthInfo{Token: "t"}, Namespace: "garden",
		}, "shoot", "https://api", "shoot"},
		"by certificate": {&ControlPlaneSecretConfig{
			Name: "n", CertificateSecretConfig: client, Token: &Token{Token: "t"}, BasicAuth: &BasicAuth{Username: "u"}, KubeConfigRequests: requests,
		}, "inside", "https://api", "inside"},
		"by token":    {&ControlPlaneSecretConfig{Name: "n", Token: &Token{Token: "t"}, BasicAuth: &BasicAuth{Username: "u"}, KubeConfigRequests: requests}, "inside", "https://api", "inside-token"},
		"by password": {&ControlPlaneSecretConfig{Name: "n", BasicAuth: &BasicAuth{Username: "u", Password: "p"}, KubeConfigRequests: requests}, "inside", "https://api", "inside-basic-auth"},
		"as nobody":   {&ControlPlaneSecretConfig{Name: "n", KubeConfigRequests: requests}, "inside", "https://api", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := clientcmd.Load(generate(t, test.config)[DataKeyKubeconfig])
			if err != nil {
				t.Fatal(err)
			}
			context := parsed.Contexts[parsed.CurrentContext]
			if parsed.CurrentContext != test.context || context.AuthInfo != test.user || parsed.Clusters[context.Cluster].Server != test.server {
				t.Errorf("%s, %+v", parsed.CurrentContext, context)
			}
		})
	}
}

// TestCertificatesHideKeys: no fmt verb prints a key.
func TestCertificatesHideKeys(t *testing.T) {
	t.Parallel()
	ca := signer(t, pki.ECDSAP256)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{ca, *ca} {
			if text := fmt.Sprintf(verb, value); text != "certificate ca" {
				t.Errorf("%s prints %q", verb, text)
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	ca, other := signer(t, pki.ECDSAP256), signer(t, pki.ECDSAP256)
	if _, err := LoadCertificate("ca", other.PrivateKeyPEM, ca.CertificatePEM); !errors.Is(err, pki.ErrKeyMismatch) {
		t.Errorf("%v, want %v", err, pki.ErrKeyMismatch)
	}
	key, err := pki.GenerateKey(pki.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCertificateOutside("ca", key, ca.CertificatePEM); !errors.Is(err, pki.ErrKeyMismatch) {
		t.Errorf("%v, want %v", err, pki.ErrKeyMismatch)
	}
	for name, data := range map[string][]byte{"nothing": nil, "another key": ca.PrivateKeyPEM} {
		if _, err := rsaKeyOf(data); !errors.Is(err, ErrInvalidData) {
			t.Errorf("%s: %v, want %v", name, err, ErrInvalidData)
		}
	}
}
