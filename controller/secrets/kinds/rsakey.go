// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Data keys of RSA keys.
const (
	DataKeyRSAPrivateKey     = "id_rsa"
	DataKeySSHAuthorizedKeys = "id_rsa.pub"
)

// Bounds of the size of an RSA key, in bits.
const (
	leastBits = 2048
	mostBits  = 8192
)

// RSASecretConfig is an RSA key for service accounts or SSH.
type RSASecretConfig struct {
	Name string

	Bits int
	// UsedForSSH adds the public key in the format of authorized_keys. Such a key has no bundle.
	UsedForSSH bool
}

// RSAKeys is an RSA key, and its public half if it is for SSH.
type RSAKeys struct {
	Name                 string
	PrivateKeyPEM        []byte
	OpenSSHAuthorizedKey []byte
}

// GetName implements Config.
func (c *RSASecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *RSASecretConfig) Generate(time.Time) (Data, error) {
	if c.Bits < leastBits || c.Bits > mostBits {
		return nil, fmt.Errorf("%w: RSA key %q of %d bits, which are to be %d to %d", ErrInvalidConfig, c.Name, c.Bits, leastBits, mostBits)
	}
	key, err := rsa.GenerateKey(rand.Reader, c.Bits)
	if err != nil {
		return nil, fmt.Errorf("make RSA key %q: %w", c.Name, err)
	}
	der := x509.MarshalPKCS1PrivateKey(key)
	defer clear(der)
	out := &RSAKeys{Name: c.Name, PrivateKeyPEM: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der})}
	if !c.UsedForSSH {
		return out, nil
	}
	public, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("make SSH key %q: %w", c.Name, err)
	}
	out.OpenSSHAuthorizedKey = []byte(strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(public)), "\n"))
	return out, nil
}

// SecretData implements Data.
func (k *RSAKeys) SecretData() map[string][]byte {
	out := map[string][]byte{DataKeyRSAPrivateKey: k.PrivateKeyPEM}
	if k.OpenSSHAuthorizedKey != nil {
		out[DataKeySSHAuthorizedKeys] = k.OpenSSHAuthorizedKey
	}
	return out
}

// rsaKeyOf reads an RSA key in PEM. It drops the errors of the decoders: nothing derived from a key may reach a
// message.
func rsaKeyOf(data []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%w: it is no RSA key in PEM", ErrInvalidData)
	}
	defer clear(block.Bytes)
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if key, ok := parsed.(*rsa.PrivateKey); ok && err == nil {
		return key, nil
	}
	return nil, fmt.Errorf("%w: it is no RSA key in PKCS#1 or PKCS#8", ErrInvalidData)
}
