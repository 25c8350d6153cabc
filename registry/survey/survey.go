// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// Survey collects certificates, then finds what is wrong with them.
type Survey struct {
	now    time.Time
	within time.Duration

	presented []*presented
	bundles   []*bundle
	known     map[pki.Fingerprint]*pki.Certificate
	found     []Finding
}

// presented is a certificate that a program shows, with its chain.
type presented struct {
	Place
	group string
	cert  *pki.Certificate
	chain []*pki.Certificate
	// own is the bundle beside it that says who verifies it, nil if there is none.
	own *bundle
}

// bundle is what a program verifies by.
type bundle struct {
	Place
	group   string
	anchors []*pki.Certificate
	// server is the DNS name of the server that is verified by the bundle, "" if that is not known.
	server string
	// beside: it is for the certificate beside it, and for no other.
	beside bool
}

// New returns a survey at a time. Certificates that expire within a duration are warnings.
func New(now time.Time, within time.Duration) *Survey {
	return &Survey{now: now, within: within, known: map[pki.Fingerprint]*pki.Certificate{}}
}

// Certificates returns how many different certificates were added.
func (s *Survey) Certificates() int { return len(s.known) }

// Add adds a finding of another origin.
func (s *Survey) Add(f Finding) { s.found = append(s.found, f) }

func (s *Survey) add(kind Kind, severity Severity, at Place, message, next string) {
	s.Add(Finding{Kind: kind, Severity: severity, Place: at, Message: message, Next: next})
}

// Entries are values that were found together: the keys of an object, or the files of a directory.
type Entries struct {
	// At is their place; Key is set for each entry, or File if Files is set.
	At    Place
	Files map[string]string
	// Group is what is verified together: a namespace or a directory.
	Group string
	// Secret may hold private keys. Everything in it that is not a pair is a bundle if it consists of CAs.
	Secret bool
	Values map[string][]byte
}

// AddServerBundle adds the bundle by which the API server verifies a server.
func (s *Survey) AddServerBundle(at Place, data []byte, server, group string) {
	if b := s.bundle(at, data, group); b != nil {
		b.server = server
	}
}

// AddBundle adds trust anchors that stand alone.
func (s *Survey) AddBundle(at Place, data []byte, group string) { s.bundle(at, data, group) }

// bundle returns nil if nothing of the bundle can be read.
func (s *Survey) bundle(at Place, data []byte, group string) *bundle {
	certs, keys, err := split(data)
	if len(keys) > 0 {
		s.add(KeyInBundle, Error, at, "holds a private key, which everyone who verifies can read",
			"remove the key from it, and replace the key and its certificate")
	}
	if err != nil {
		s.unreadable(at, err)
		return nil
	}
	anchors, err := pki.ParseAnchors(certs)
	switch {
	case errors.Is(err, pki.ErrEmptyBundle):
		return nil
	case err != nil:
		s.unreadable(at, err)
		return nil
	}
	if len(anchors.Unread) > 0 {
		s.add(UnreadableCertificate, Warning, at, "holds a certificate that Go cannot read ("+anchors.Unread[0].Error()+"): programs in Go skip it or refuse all of it",
			"remove the block if no program needs it")
	}
	if anchors.Repeats {
		s.add(RepeatedAnchor, Warning, at, "holds a CA more than once: some verifiers refuse the whole bundle", "keep each CA once")
	}
	b := &bundle{Place: at, group: group, anchors: s.intern(anchors.Certificates)}
	s.bundles = append(s.bundles, b)
	return b
}

func (s *Survey) unreadable(at Place, err error) {
	s.add(UnreadableCertificate, Error, at, "cannot be read: "+err.Error(), "write the certificate anew: whole PEM blocks, each on lines of its own")
}

// pair adds a certificate that is presented, and checks the key beside it. It returns nil if it cannot be read.
func (s *Survey) pair(at Place, data, key []byte, group string) *presented {
	certs, _, err := split(data)
	if err != nil {
		s.unreadable(at, err)
		return nil
	}
	chain, err := pki.ParseChain(certs)
	if errors.Is(err, pki.ErrNoCertificate) {
		return nil
	}
	if err != nil {
		s.unreadable(at, err)
		return nil
	}
	if len(bytes.TrimSpace(key)) > 0 {
		_, err := pki.CheckPair(certs, key)
		s.judgeKey(at, err)
	}
	chain = s.intern(chain)
	p := &presented{Place: at, group: group, cert: chain[0], chain: chain[1:]}
	s.presented = append(s.presented, p)
	return p
}

// judgeKey leaves out keys behind a passphrase, and files of several keys: they cannot be compared.
func (s *Survey) judgeKey(at Place, err error) {
	switch {
	case err == nil, errors.Is(err, pki.ErrEncryptedKey), errors.Is(err, pki.ErrManyKeys):
	case errors.Is(err, pki.ErrKeyMismatch):
		s.add(KeyMismatch, Error, at, "the private key beside it belongs to another certificate: no server starts with it",
			"write certificate and key of one pair in one update")
	case errors.Is(err, pki.ErrInvalidKey), errors.Is(err, pki.ErrNoKey), errors.Is(err, pki.ErrMalformedPEM), errors.Is(err, pki.ErrTooLarge):
		s.add(UnreadableKey, Error, at, "the private key beside it cannot be read", "write the key as PEM in PKCS#8, PKCS#1 or SEC 1")
	}
}

// intern keeps one pointer for each certificate, so that what was found out about it is not found out again.
func (s *Survey) intern(certs []*pki.Certificate) []*pki.Certificate {
	for i, cert := range certs {
		if known := s.known[cert.Fingerprint]; known != nil {
			certs[i] = known
			continue
		}
		s.known[cert.Fingerprint] = cert
	}
	return certs
}

// split returns the certificates and the private keys of a PEM, each as PEM. Other blocks are left out.
func split(data []byte) (certs, keys []byte, err error) {
	if len(data) > pki.MaxPEMBytes {
		return nil, nil, fmt.Errorf("%d bytes: %w", len(data), pki.ErrTooLarge)
	}
	if !IsPrivateKey(data) && !bytes.Contains(data, []byte("-----BEGIN PUBLIC KEY")) && !bytes.Contains(data, []byte("PARAMETERS-----")) {
		return data, nil, nil
	}
	blocks := 0
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data, blocks = rest, blocks+1
		switch {
		case block.Type == "CERTIFICATE":
			certs = append(certs, pem.EncodeToMemory(block)...)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			keys = append(keys, pem.EncodeToMemory(block)...)
		}
	}
	if blocks == 0 {
		return nil, nil, pki.ErrMalformedPEM
	}
	return certs, keys, nil
}

// IsPrivateKey reports whether a PEM begins a private key.
func IsPrivateKey(data []byte) bool { return bytes.Contains(data, []byte("PRIVATE KEY-----")) }

// AddPair adds a certificate that a program presents, and compares the key beside it, nil without one.
func (s *Survey) AddPair(at Place, data, key []byte, group string) { s.pair(at, data, key, group) }
