// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
)

func pemOf(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

var (
	commonName          = asn1.ObjectIdentifier{2, 5, 4, 3}
	basicConstraints    = asn1.ObjectIdentifier{2, 5, 29, 19}
	authorityIdentifier = asn1.ObjectIdentifier{2, 5, 29, 35}
	sha256WithRSA       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}
	sha1WithRSA         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 5}
)

// attributesSET is encoded as a SET because of its name.
type attributesSET []struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// nameOf encodes a name of one common name, as a string of this type.
func nameOf(tag int, text string) []byte {
	name := make(attributesSET, 1)
	name[0].Type, name[0].Value = commonName, asn1.RawValue{Tag: tag, Bytes: []byte(text)}
	return encode([]attributesSET{name})
}

// constraintsExtension says that a certificate is an authority.
func constraintsExtension() pkix.Extension {
	return pkix.Extension{Id: basicConstraints, Critical: true, Value: encode(struct{ IsCA bool }{true})}
}

// identifierExtension names an issuer by its key, and by its name and serial number.
func identifierExtension(key []byte, serial *big.Int, issuer []byte) pkix.Extension {
	named := struct {
		KeyID  []byte        `asn1:"optional,omitempty,tag:0"`
		Issuer asn1.RawValue `asn1:"optional"`
		Serial *big.Int      `asn1:"optional,tag:2"`
	}{KeyID: key, Serial: serial}
	if serial != nil {
		directory := encode(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: issuer})
		named.Issuer = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: directory}
	}
	return pkix.Extension{Id: authorityIdentifier, Value: encode(named)}
}

// withSHA1 signs a certificate of an RSA key again, with SHA-1.
func withSHA1(der []byte, key crypto.Signer) ([]byte, error) {
	var cert struct {
		Body      asn1.RawValue
		Algorithm asn1.RawValue
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &cert); err != nil {
		return nil, err
	}
	former, now := encode(sha256WithRSA), encode(sha1WithRSA)
	cert.Body = asn1.RawValue{FullBytes: bytes.Replace(cert.Body.FullBytes, former, now, 1)}
	cert.Algorithm = asn1.RawValue{FullBytes: bytes.Replace(cert.Algorithm.FullBytes, former, now, 1)}
	digest := sha1.Sum(cert.Body.FullBytes)
	signature, err := key.Sign(rand.Reader, digest[:], crypto.SHA1)
	if err != nil {
		return nil, err
	}
	cert.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	return encode(cert), nil
}

func encode(v any) []byte {
	der, err := asn1.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return der
}
