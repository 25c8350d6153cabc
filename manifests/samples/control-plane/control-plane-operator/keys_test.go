// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
)

// TestEncryptionConfiguration: the first key encrypts, all decrypt, and what is not encrypted can be read.
func TestEncryptionConfiguration(t *testing.T) {
	key := func(name string) *corev1.Secret {
		data := &kinds.ETCDEncryptionKey{Provider: "secretbox", KeyName: name, Secret: []byte("0123456789abcdef0123456789abcdef")}
		return &corev1.Secret{Data: data.SecretData()}
	}
	out, err := encryptionConfiguration([]*corev1.Secret{key("key2"), key("key1")})
	if err != nil {
		t.Fatal(err)
	}
	first, second, plain := strings.Index(string(out), "key2"), strings.Index(string(out), "key1"), strings.Index(string(out), "identity")
	if first < 0 || second < first || plain < second {
		t.Errorf("configuration:\n%s", out)
	}
	if _, err := encryptionConfiguration([]*corev1.Secret{{}}); !errors.Is(err, kinds.ErrInvalidData) {
		t.Errorf("of an empty Secret: %v", err)
	}
}
