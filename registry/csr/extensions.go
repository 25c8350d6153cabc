// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
)

// checkExtensions refuses extensions that the certificate would not get. It ignores key usages: spec.usages decides.
func checkExtensions(extensions []pkix.Extension) error {
	seen := map[string]bool{}
	for _, extension := range extensions {
		oid := extension.Id.String()
		if seen[oid] {
			return refuse(ExtensionNotAllowed, "the request has the extension %s twice", oid)
		}
		seen[oid] = true
		switch oid {
		case "2.5.29.17":
			if err := checkNameKinds(extension.Value); err != nil {
				return err
			}
		case "2.5.29.14", "2.5.29.15", "2.5.29.37": // subject key identifier, key usage, extended key usage
		case "2.5.29.19":
			if asksForCA(extension.Value) {
				return refuse(ExtensionNotAllowed, "the request asks for a certificate authority; only leaves are signed")
			}
		default:
			return refuse(ExtensionNotAllowed, "the request asks for the extension %s; leave it out", oid)
		}
	}
	return nil
}

// checkNameKinds refuses the kinds of alternative names that crypto/x509 silently ignores.
func checkNameKinds(value []byte) error {
	var names []asn1.RawValue
	if rest, err := asn1.Unmarshal(value, &names); err != nil || len(rest) > 0 {
		return refuse(InvalidRequest, "the alternative names of the request cannot be read")
	}
	for _, name := range names {
		switch name.Tag {
		case 1, 2, 6, 7: // e-mail address, DNS name, URI, IP address
		default:
			return refuse(NameNotAllowed, "the request has an alternative name of the kind %d; only DNS names and IP addresses are signed", name.Tag)
		}
	}
	return nil
}

// asksForCA returns true also for constraints that cannot be parsed.
func asksForCA(value []byte) bool {
	var constraints struct {
		IsCA       bool `asn1:"optional"`
		MaxPathLen int  `asn1:"optional,default:-1"`
	}
	rest, err := asn1.Unmarshal(value, &constraints)
	return err != nil || len(rest) > 0 || constraints.IsCA
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
