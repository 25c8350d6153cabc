// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"bytes"
	"encoding/pem"
	"strings"
)

// BundleKey is the key of a bundle.
const BundleKey = "bundle.crt"

// BundleName returns the name of a bundle's configuration.
func BundleName(name string) string { return name + bundleSuffix }

// BundleOf returns the name that a bundle is for, and whether a configuration has the name of a bundle.
func BundleOf(name string) (string, bool) { return strings.CutSuffix(name, bundleSuffix) }

// BundleObject returns the name of the bundle Secret with these data for a configuration, "" if the data are not such
// a bundle. The name covers the content, so a pod that mounts this name has this content.
func BundleObject(configuration string, data map[string][]byte) string {
	// The structural hash covers the names of type and fields, so they match those of package kinds.
	type CertificateBundleSecretConfig struct {
		Name            string
		CertificatePEMs [][]byte
	}
	certificates, whole := blocks(data[BundleKey])
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

// blocks returns the unchanged PEM blocks of data, and whether data is nothing else.
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
