// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// verifyTLS checks that every file is a bundle or half of a pair, and that what signed a pair is in one of the bundles.
func verifyTLS(files map[string][]byte, now time.Time) error {
	var anchors []*pki.Certificate
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base, isCert := strings.CutSuffix(name, ".crt")
		_, hasKey := files[base+".key"]
		switch {
		case isCert && hasKey:
			pairs = append(pairs, base)
		case isCert:
			bundle, err := pki.ParseBundle(files[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			anchors = append(anchors, bundle...)
		case path.Ext(name) != ".key" || files[strings.TrimSuffix(name, ".key")+".crt"] == nil:
			return fmt.Errorf("%s belongs to no pair", name)
		}
	}
	for _, name := range pairs {
		if err := verifyPair(files[name+".crt"], files[name+".key"], anchors, now); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// verifyPair verifies as a peer would, whatever the certificate is used for.
func verifyPair(certPEM, keyPEM []byte, anchors []*pki.Certificate, now time.Time) error {
	pair, err := pki.ParsePair(certPEM, keyPEM)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate.DER())
	if err != nil {
		return fmt.Errorf("parse the certificate: %w", err)
	}
	roots := x509.NewCertPool()
	for _, anchor := range anchors {
		root, err := x509.ParseCertificate(anchor.DER())
		if err != nil {
			return fmt.Errorf("parse an anchor: %w", err)
		}
		roots.AddCert(root)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return errors.Join(errors.New("no bundle beside it verifies the certificate"), err)
	}
	return nil
}
