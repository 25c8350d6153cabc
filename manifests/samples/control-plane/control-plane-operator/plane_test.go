// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// TestOperations: an operation is executed on all credentials that it concerns, or on none.
func TestOperations(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var s states
	if err := s.do("rotate-ca-start", now); err != nil || s.Authorities.Phase != edition.Preparing || s.EncryptionKey.Phase != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	err := s.do("rotate-credentials-start", now)
	if !errors.Is(err, edition.ErrOperation) || s.EncryptionKey.Phase != "" || s.ServiceAccountKey.Phase != "" {
		t.Errorf("a second start of the authorities has started others: %+v, %v", s, err)
	}
	if err := s.do("rotate-etcd-encryption-key-start;rotate-serviceaccount-key-start", now); err != nil || s.EncryptionKey.Phase != edition.Preparing ||
		s.ServiceAccountKey.Phase != edition.Preparing {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestRewrites: what is stored is rewritten once in a rotation, when every kube-apiserver uses the new key, and once in
// an abort, when every one uses the former key.
func TestRewrites(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var s states
	var did []bool
	step := func(operation string) {
		now = now.Add(time.Minute)
		if operation != "" {
			if err := s.do(operation, now); err != nil {
				t.Fatal(err)
			}
		}
		did = append(did, s.rewrites())
		s.next(now)
	}
	for _, operation := range []string{
		"", "rotate-etcd-encryption-key-start", "", "", "rotate-etcd-encryption-key-complete", "", "",
		"rotate-etcd-encryption-key-start", "", "rotate-etcd-encryption-key-abort", "", "",
	} {
		step(operation)
	}
	if want := []bool{false, false, true, false, false, false, false, false, true, true, false, false}; !slices.Equal(did, want) {
		t.Errorf("rewritten at %v, want %v", did, want)
	}
}

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
