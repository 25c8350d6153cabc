// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net/netip"

	"certrotation.dev/registry/pki"
)

// MaxRequestBytes bounds spec.request. A request with an RSA key of 4096 bits and a dozen names is smaller than 3
// KiB.
const MaxRequestBytes = 16 << 10

// maxNames bounds the alternative names of a request.
const maxNames = 64

const blockRequest = "CERTIFICATE REQUEST"

// Request is a PKCS#10 request with a valid signature, without anything that is never granted.
type Request struct {
	Organization string
	CommonName   string
	DNSNames     []string
	IPAddresses  []netip.Addr
	PublicKey    crypto.PublicKey
	// PublicKeyHash is also the key hash of the certificate to sign.
	PublicKeyHash string
}

// parseRequest parses and checks spec.request. Errors are refusals.
func parseRequest(data []byte) (*Request, error) {
	der, err := decodeRequest(data)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, refuse(InvalidRequest, "spec.request is not a certificate request: %.*s", maxQuoted, err.Error())
	}
	// Check the key before the signature: verifying with a huge modulus would be expensive.
	if algorithm := pki.AlgorithmOf(parsed.PublicKey); !algorithm.Valid() {
		return nil, refuse(KeyNotAllowed, "the key of the request is %s; make a new one of the kind %s", algorithm, keyKinds())
	}
	if err := parsed.CheckSignature(); err != nil {
		return nil, refuse(InvalidSignature, "the request is not signed by its own key: %.*s", maxQuoted, err.Error())
	}
	request := &Request{PublicKey: parsed.PublicKey, PublicKeyHash: hashOf(parsed.RawSubjectPublicKeyInfo)}
	if err := request.readSubject(parsed.Subject.Names); err != nil {
		return nil, err
	}
	if err := checkExtensions(parsed.Extensions); err != nil {
		return nil, err
	}
	return request, request.readNames(parsed)
}

// decodeRequest accepts exactly one PEM block and nothing else, so that no two parsers see different requests.
func decodeRequest(data []byte) ([]byte, error) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, refuse(InvalidRequest, "spec.request is required")
	case len(data) > MaxRequestBytes:
		return nil, refuse(InvalidRequest, "spec.request has %d bytes, more than %d", len(data), MaxRequestBytes)
	}
	block, rest := pem.Decode(data)
	switch {
	case block == nil || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN ")):
		return nil, refuse(InvalidRequest, "spec.request is not a PEM block of type %s", blockRequest)
	case block.Type != blockRequest || len(block.Headers) > 0:
		return nil, refuse(InvalidRequest, "spec.request is a PEM block of type %s, want %s without headers", quote(block.Type), blockRequest)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, refuse(InvalidRequest, "spec.request has more than one PEM block, or text after it")
	}
	return block.Bytes, nil
}

func keyKinds() string {
	var out []string
	for _, algorithm := range pki.KeyAlgorithms() {
		out = append(out, string(algorithm))
	}
	return quoteAll(out)
}

// readSubject accepts exactly one organization and one common name. It refuses a second one of either, which some
// parsers see and others do not, and every other attribute.
func (r *Request) readSubject(attributes []pkix.AttributeTypeAndValue) error {
	var organizations, commonNames []string
	for _, attribute := range attributes {
		text, isText := attribute.Value.(string)
		switch {
		case isText && attribute.Type.Equal(asn1.ObjectIdentifier{2, 5, 4, 10}):
			organizations = append(organizations, text)
		case isText && attribute.Type.Equal(asn1.ObjectIdentifier{2, 5, 4, 3}):
			commonNames = append(commonNames, text)
		default:
			return refuse(SubjectNotAllowed, "the subject has an attribute %s; it may have O and CN only", attribute.Type)
		}
	}
	switch {
	case len(organizations) == 0:
		return refuse(SubjectNotAllowed, "the subject has no organization; the profile names the one that it must have")
	case len(organizations) > 1:
		return refuse(SubjectNotAllowed, "the subject has %d organizations, %s; it must have exactly one", len(organizations), quoteAll(organizations))
	case len(commonNames) != 1:
		return refuse(SubjectNotAllowed, "the subject has %d common names, it must have exactly one", len(commonNames))
	}
	r.Organization, r.CommonName = organizations[0], commonNames[0]
	return nil
}

func (r *Request) readNames(parsed *x509.CertificateRequest) error {
	if len(parsed.EmailAddresses) > 0 || len(parsed.URIs) > 0 {
		return refuse(NameNotAllowed, "the request has e-mail addresses or URIs as alternative names; only DNS names and IP addresses are signed")
	}
	count := len(parsed.DNSNames) + len(parsed.IPAddresses)
	switch {
	case count == 0:
		return refuse(NameNotAllowed, "the request has no alternative name; a server needs a DNS name or an IP address")
	case count > maxNames:
		return refuse(NameNotAllowed, "the request has %d alternative names, more than %d", count, maxNames)
	}
	r.DNSNames = parsed.DNSNames
	for _, ip := range parsed.IPAddresses {
		address, ok := netip.AddrFromSlice(ip)
		if !ok {
			return refuse(NameNotAllowed, "the request has an IP address of %d bytes", len(ip))
		}
		r.IPAddresses = append(r.IPAddresses, address.Unmap())
	}
	return nil
}
