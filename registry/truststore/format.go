// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package truststore

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"certrotation.dev/registry/pki"
)

// Format of a trust store or a keystore.
type Format string

// Formats.
const (
	PKCS12 Format = "PKCS#12"
	JKS    Format = "JKS"
	// PEM is a copy of the bundle's text under another key. Encode does not write it.
	PEM Format = "PEM"
)

// errNoAnchors enforces NeverEmpty.
var errNoAnchors = errors.New("a trust store needs an anchor")

// Encode writes the anchors as a trust store.
func Encode(format Format, password string, anchors []*pki.Certificate) ([]byte, error) {
	if len(anchors) == 0 {
		return nil, errNoAnchors
	}
	anchors = slices.Clone(anchors)
	slices.SortFunc(anchors, func(a, b *pki.Certificate) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	anchors = slices.CompactFunc(anchors, (*pki.Certificate).Equal)
	switch format {
	case PKCS12:
		return encodePKCS12(password, anchors)
	case JKS:
		return encodeJKS(password, anchors)
	case PEM:
	}
	return nil, fmt.Errorf("trust store format %q is not known", format)
}

// alias of an anchor. Java compares aliases without case, and the formats differ in their support of characters
// outside ASCII.
func alias(anchor *pki.Certificate) string {
	const longest, enough = 64, 16
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, cmp.Or(anchor.CommonName, "anchor"))
	return strings.ToLower(name[:min(len(name), longest)] + " " + string(anchor.Fingerprint[:enough]))
}

func encodePKCS12(password string, anchors []*pki.Certificate) ([]byte, error) {
	entries := make([]pkcs12.TrustStoreEntry, 0, len(anchors))
	for _, anchor := range anchors {
		// The library writes the bytes of the certificate and reads no other field.
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: &x509.Certificate{Raw: anchor.DER()}, FriendlyName: alias(anchor)})
	}
	made := madeOf(PKCS12, password, anchors)
	out, err := pkcs12.Modern2023.WithRand(newSalts(made[:])).EncodeTrustStoreEntries(entries, password)
	if err != nil {
		return nil, fmt.Errorf("encode %d anchors as PKCS#12: %w", len(anchors), err)
	}
	return out, nil
}

// encodeJKS writes Java's own JKS format, which has dates, and without keys no salts.
func encodeJKS(password string, anchors []*pki.Certificate) ([]byte, error) {
	store := keystore.New(keystore.WithOrderedAliases())
	for _, anchor := range anchors {
		if err := store.SetTrustedCertificateEntry(alias(anchor), keystore.TrustedCertificateEntry{
			CreationTime: anchor.NotBefore, Certificate: keystore.Certificate{Type: "X.509", Content: anchor.DER()},
		}); err != nil {
			return nil, fmt.Errorf("encode anchor %s as JKS: %w", anchor.Subject, err)
		}
	}
	var out bytes.Buffer
	if err := store.Store(&out, []byte(password)); err != nil {
		return nil, fmt.Errorf("encode %d anchors as JKS: %w", len(anchors), err)
	}
	return out.Bytes(), nil
}
