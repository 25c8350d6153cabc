// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"path/filepath"

	"software.sslmate.com/src/go-pkcs12"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/reload"
)

// trustStorePassword is the one that Java has. It protects nothing.
const trustStorePassword = "changeit"

// readOnce reads the volumes of a pod when the program starts and never again, the anchors from a PKCS#12 trust store: so do most
// databases.
func readOnce(leaf, trustStore string) (*loader, error) {
	content, err := reload.Read(filepath.Join(leaf, corev1.TLSCertKey), filepath.Join(leaf, corev1.TLSPrivateKeyKey), trustStore)
	if err != nil {
		return nil, fmt.Errorf("read mounted files: %w", err)
	}
	anchors, err := anchorsOf(content[2])
	if err != nil {
		return nil, fmt.Errorf("read trust store %s: %w", trustStore, err)
	}
	source, err := reload.NewSource(reload.PEM{Certificate: content[0], Key: content[1], Anchors: anchors})
	if err != nil {
		return nil, fmt.Errorf("load what is mounted: %w", err)
	}
	l := &loader{source: source, loaded: make(chan struct{}), resume: func() {}, pause: func() {}}
	close(l.loaded)
	return l, nil
}

// anchorsOf are the certificates of a trust store, as PEM.
func anchorsOf(trustStore []byte) ([]byte, error) {
	certs, err := pkcs12.DecodeTrustStore(trustStore, trustStorePassword)
	if err != nil {
		return nil, fmt.Errorf("decode PKCS#12: %w", err)
	}
	var out bytes.Buffer
	for _, cert := range certs {
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}); err != nil {
			return nil, fmt.Errorf("encode a certificate: %w", err)
		}
	}
	return out.Bytes(), nil
}
