// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"bytes"
	"encoding/pem"
	"strings"
)

// Data key of a bundle of certificates.
const keyBundle = "bundle.crt"

// BundleName is the name of the configuration of a bundle.
func BundleName(name string) string { return name + bundleSuffix }

// BundleOf is the name of what a bundle is for, and whether a configuration has the name of a bundle.
func BundleOf(name string) (string, bool) { return strings.CutSuffix(name, bundleSuffix) }

// BundleObject is what a Secret with these data is called if it is the bundle of certificates that a configuration of this name asks
// for, "" if it is none. The configuration holds the content, so nothing of other content has that name: whoever mounts it has this
// content.
func BundleObject(configuration string, data map[string][]byte) string {
	// The structural hash covers the names of type and fields, which are those of package kinds.
	type CertificateBundleSecretConfig struct {
		Name            string
		CertificatePEMs [][]byte
	}
	certificates, whole := blocks(data[keyBundle])
	if _, of := BundleOf(configuration); !of || len(data) != 1 || !whole {
		return ""
	}
	hash, err := StructuralHash(&CertificateBundleSecretConfig{Name: configuration, CertificatePEMs: certificates})
	if err != nil {
		return ""
	}
	wanted := &Wanted{Name: configuration, Config: hash}
	return wanted.ObjectName()
}

// blocks are the PEM blocks of data, as they are there, and whether there is nothing else.
func blocks(data []byte) (out [][]byte, whole bool) {
	for len(data) > 0 {
		block, rest := pem.Decode(data)
		if block == nil {
			return nil, false
		}
		own := data[:len(data)-len(rest)]
		if !bytes.Equal(pem.EncodeToMemory(block), own) {
			return nil, false
		}
		out, data = append(out, own), rest
	}
	return out, len(out) > 0
}
