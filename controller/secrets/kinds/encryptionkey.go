// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
)

// Data keys of a key that encrypts what etcd stores.
const (
	DataKeyEncryptionProvider       = "provider"
	DataKeyEncryptionKeyName        = "key"
	DataKeyEncryptionSecret         = "secret"
	DataKeyEncryptionSecretEncoding = "encoding"
)

// encodingNone means that the secret is the raw bytes of the key.
const encodingNone = "none"

// ETCDEncryptionKeySecretConfig is a key with which kube-apiserver encrypts stored objects.
type ETCDEncryptionKeySecretConfig struct {
	// Provider is for example aescbc or secretbox.
	Provider string
	Name     string
	// SecretLength is the length of the key, in bytes.
	SecretLength int
}

// ETCDEncryptionKey is such a key.
type ETCDEncryptionKey struct {
	Provider string
	KeyName  string
	Secret   []byte
	// Encoded means that Secret is base64 text already, as in Secrets from before the encoding was recorded.
	Encoded bool
}

// GetName implements Config.
func (c *ETCDEncryptionKeySecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *ETCDEncryptionKeySecretConfig) Generate(now time.Time) (Data, error) {
	if c.SecretLength < 16 || c.SecretLength > 64 {
		return nil, fmt.Errorf("%w: encryption key %q of %d bytes, which are to be 16 to 64", ErrInvalidConfig, c.Name, c.SecretLength)
	}
	key := make([]byte, c.SecretLength)
	// crypto/rand ends the program rather than return an error.
	_, _ = rand.Read(key)
	return &ETCDEncryptionKey{Provider: c.Provider, KeyName: "key" + strconv.FormatInt(now.Unix(), 10), Secret: key}, nil
}

// SecretData implements Data.
func (k *ETCDEncryptionKey) SecretData() map[string][]byte {
	out := map[string][]byte{
		DataKeyEncryptionKeyName: []byte(k.KeyName), DataKeyEncryptionSecret: k.Secret,
	}
	if k.Provider != "" {
		out[DataKeyEncryptionProvider] = []byte(k.Provider)
	}
	if !k.Encoded {
		out[DataKeyEncryptionSecretEncoding] = []byte(encodingNone)
	}
	return out
}

// LoadETCDEncryptionKey reads the data of a Secret, also of one without a recorded encoding.
func LoadETCDEncryptionKey(data map[string][]byte) (*ETCDEncryptionKey, error) {
	name, secret := data[DataKeyEncryptionKeyName], data[DataKeyEncryptionSecret]
	if len(name) == 0 || len(secret) == 0 {
		return nil, fmt.Errorf("load encryption key: %w: it needs %s and %s", ErrInvalidData, DataKeyEncryptionKeyName, DataKeyEncryptionSecret)
	}
	out := &ETCDEncryptionKey{Provider: string(data[DataKeyEncryptionProvider]), KeyName: string(name), Secret: secret}
	switch string(data[DataKeyEncryptionSecretEncoding]) {
	case encodingNone:
	case "":
		if _, err := base64.StdEncoding.DecodeString(string(secret)); err != nil {
			return nil, fmt.Errorf("load encryption key: %w: it has no encoding and is no base64", ErrInvalidData)
		}
		out.Encoded = true
	default:
		return nil, fmt.Errorf("load encryption key: %w: its encoding is not known", ErrInvalidData)
	}
	return out, nil
}

// ConfigurationSecret is the secret for kube-apiserver's EncryptionConfiguration. A Secret without a recorded
// encoding was written there as it is. So kube-apiserver encrypts with the bytes that it decodes to: 24 for a text of
// 32 characters.
func (k *ETCDEncryptionKey) ConfigurationSecret() string {
	if k.Encoded {
		return string(k.Secret)
	}
	return base64.StdEncoding.EncodeToString(k.Secret)
}
