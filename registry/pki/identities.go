// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Identities are the names of a leaf beyond common name, organizations, DNS names and IP addresses.
type Identities struct {
	// URIs of the subject alternative names, such as a SPIFFE ID.
	URIs []string
	// EmailAddresses of the subject alternative names.
	EmailAddresses []string
	// SubjectFields are further attributes of the subject as TYPE=VALUE: OU=platform. TYPE is one of the short names of
	// RFC 4519, or an object identifier.
	SubjectFields []string
}

// None reports whether there are no such names.
func (i *Identities) None() bool {
	return len(i.URIs)+len(i.EmailAddresses)+len(i.SubjectFields) == 0
}

// list returns the names as text, ordered.
func (i *Identities) list() []string {
	return slices.Concat(i.URIs, i.EmailAddresses, i.SubjectFields)
}

// Difference returns the names that want lacks, and those that only want has.
func (i *Identities) Difference(want *Identities) (extra, missing []string) {
	has, should := i.list(), want.list()
	lacks := func(in []string) func(string) bool {
		return func(name string) bool { return slices.Contains(in, name) }
	}
	return slices.DeleteFunc(slices.Clone(has), lacks(should)), slices.DeleteFunc(should, lacks(has))
}

// normalized returns the names as ParseCertificate reads them, sorted, or ErrInvalidProfile.
func (i *Identities) normalized() (Identities, error) {
	var uris []string
	for _, text := range i.URIs {
		uri, err := parseURI(text)
		if err != nil {
			return Identities{}, err
		}
		uris = append(uris, uri.String())
	}
	for _, text := range i.EmailAddresses {
		if !plausibleName(text) || strings.Count(text, "@") != 1 {
			return Identities{}, fmt.Errorf("%w: e-mail address %.*q", ErrInvalidProfile, maxErrorText, text)
		}
	}
	for _, text := range i.SubjectFields {
		if _, err := parseSubjectField(text); err != nil {
			return Identities{}, err
		}
	}
	return Identities{
		URIs: sortedSet(uris), EmailAddresses: sortedSet(i.EmailAddresses), SubjectFields: sortedSet(i.SubjectFields),
	}, nil
}

func parseURI(text string) (*url.URL, error) {
	uri, err := url.Parse(text)
	if err != nil || !uri.IsAbs() || !plausibleName(text) {
		return nil, fmt.Errorf("%w: URI %.*q, want an absolute one such as spiffe://example.org/web", ErrInvalidProfile, maxErrorText, text)
	}
	return uri, nil
}

// apply adds the names, which are normalized, to the template of a leaf.
func (i *Identities) apply(template *x509.Certificate) {
	for _, text := range i.URIs {
		if uri, err := parseURI(text); err == nil {
			template.URIs = append(template.URIs, uri)
		}
	}
	template.EmailAddresses = i.EmailAddresses
	for _, text := range i.SubjectFields {
		if field, err := parseSubjectField(text); err == nil {
			template.Subject.ExtraNames = append(template.Subject.ExtraNames, field)
		}
	}
}

// subjectFields are the types of subject attributes that have a short name, but for common name and organization.
var subjectFields = map[string]asn1.ObjectIdentifier{
	"C": {2, 5, 4, 6}, "ST": {2, 5, 4, 8}, "L": {2, 5, 4, 7}, "STREET": {2, 5, 4, 9}, "POSTALCODE": {2, 5, 4, 17},
	"OU": {2, 5, 4, 11}, "SERIALNUMBER": {2, 5, 4, 5}, "TITLE": {2, 5, 4, 12}, "SN": {2, 5, 4, 4}, "GN": {2, 5, 4, 42},
	"DC": {0, 9, 2342, 19200300, 100, 1, 25}, "UID": {0, 9, 2342, 19200300, 100, 1, 1},
}

var (
	oidCommonName   = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidOrganization = asn1.ObjectIdentifier{2, 5, 4, 10}
)

// maxSubjectField bounds the value of a subject attribute, in bytes.
const maxSubjectField = 128

// parseSubjectField reads TYPE=VALUE, or fails with ErrInvalidProfile.
func parseSubjectField(text string) (pkix.AttributeTypeAndValue, error) {
	name, value, ok := strings.Cut(text, "=")
	oid := subjectFields[name]
	if oid == nil && ok {
		oid = parseOID(name)
	}
	own := oid.Equal(oidCommonName) || oid.Equal(oidOrganization)
	if !ok || oid == nil || own || value == "" || len(value) > maxSubjectField || shortName(oid) != name {
		return pkix.AttributeTypeAndValue{}, fmt.Errorf(
			"%w: subject field %.*q, want TYPE=VALUE such as OU=platform, with a type of RFC 4519 (neither CN nor O) or an object identifier",
			ErrInvalidProfile, maxErrorText, text)
	}
	return pkix.AttributeTypeAndValue{Type: oid, Value: value}, nil
}

// parseOID reads an object identifier in dotted form, nil if it is none.
func parseOID(text string) asn1.ObjectIdentifier {
	var out asn1.ObjectIdentifier
	for part := range strings.SplitSeq(text, ".") {
		arc, err := strconv.ParseUint(part, 10, 31)
		if err != nil || len(out) > 20 {
			return nil
		}
		out = append(out, int(arc))
	}
	if len(out) < 2 || out[0] > 2 || out[0] < 2 && out[1] > 39 || out.String() != text {
		return nil
	}
	return out
}

// shortName is the type of a subject attribute in a subject field.
func shortName(oid asn1.ObjectIdentifier) string {
	for name, known := range subjectFields {
		if known.Equal(oid) {
			return name
		}
	}
	return oid.String()
}

// identitiesOf reads the names of a certificate, sorted.
func identitiesOf(cert *x509.Certificate) Identities {
	var uris, fields []string
	for _, uri := range cert.URIs {
		uris = append(uris, uri.String())
	}
	for _, part := range cert.Subject.Names {
		if value, ok := part.Value.(string); ok && !part.Type.Equal(oidCommonName) && !part.Type.Equal(oidOrganization) {
			fields = append(fields, shortName(part.Type)+"="+value)
		}
	}
	return Identities{URIs: sortedSet(uris), EmailAddresses: sortedSet(cert.EmailAddresses), SubjectFields: sortedSet(fields)}
}

// unsaidOf returns what no Profile can say of a certificate: usages that this package does not issue, alternative names
// of other types (RFC 5280, 4.2.1.6), and subject attributes that are no text.
func unsaidOf(cert *x509.Certificate) []string {
	var out []string
	for _, usage := range cert.ExtKeyUsage {
		if usage != x509.ExtKeyUsageAny && usageOf(usage) == "" {
			out = append(out, fmt.Sprintf("extended key usage %s", usage))
		}
	}
	for _, usage := range cert.UnknownExtKeyUsage {
		out = append(out, "extended key usage "+usage.String())
	}
	for _, part := range cert.Subject.Names {
		if _, ok := part.Value.(string); !ok {
			out = append(out, "subject attribute "+part.Type.String())
		}
	}
	for _, extension := range cert.Extensions {
		if extension.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) {
			out = append(out, otherNames(extension.Value)...)
		}
	}
	return out
}

// otherNames returns the alternative names that crypto/x509 skips.
func otherNames(der []byte) []string {
	var names []asn1.RawValue
	if _, err := asn1.Unmarshal(der, &names); err != nil {
		return nil
	}
	var out []string
	for _, name := range names {
		const email, dns, uri, ip = 1, 2, 6, 7
		if tag := name.Tag; tag != email && tag != dns && tag != uri && tag != ip {
			out = append(out, fmt.Sprintf("alternative name of type %d", tag))
		}
	}
	return out
}
