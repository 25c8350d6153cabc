// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Two relations between a certificate and an authority hold for several verifiers together. AcceptedBy is asked before
// a certificate is used, MayBeAcceptedBy before an anchor is taken away. Package test/verifiers compares them with
// these programs. Dates and the algorithms of keys do not count: who chooses Ed25519 knows that NSS lacks it.
//
// AcceptedBy holds along a path if it holds for each link: an intermediate that ca must not have, or that may sign what
// ca must not, is not accepted by ca.

// AcceptedBy reports whether each of the verifiers takes ca for the issuer of c: ca has signed it, c identifies it, and
// ca may sign it for all its usages.
func (c *Certificate) AcceptedBy(ca *Certificate, by Verifiers) bool {
	if !c.SignedBy(ca) || !c.Identifies(ca, by) || c.IsCA && ca.pathLength == 0 && !bytes.Equal(c.rawSubject, c.rawIssuer) {
		return false
	}
	if !ca.restricted {
		return true
	}
	if permitted, known := c.answers.get(permits, by, ca); known {
		return permitted
	}
	permitted := permitsAll(c.der, ca.der, by)
	c.answers.add(permits, by, ca, permitted)
	return permitted
}

// MayBeAcceptedBy reports whether some verifier may take ca for the issuer of c. Beyond SignedBy, names count as equal
// if they differ only in string types, case and white space, as OpenSSL and Java compare them, and so do signatures
// with SHA-1. A signature that cannot be checked here may hold.
func (c *Certificate) MayBeAcceptedBy(ca *Certificate) bool {
	if c.SignedBy(ca) {
		return true
	}
	if ca == nil || !ca.IsCA || c.issuerName != ca.subjectName {
		return false
	}
	if may, known := c.answers.get(mayHaveSigned, 0, ca); known {
		return may
	}
	may := signatureMayHold(c.der, ca.der)
	c.answers.add(mayHaveSigned, 0, ca, may)
	return may
}

// permitsAll reports whether each verifier accepts a certificate by an anchor for each of its usages, at a time at which
// both are valid.
func permitsAll(child, parent []byte, by Verifiers) bool {
	signed, signer, err := parseBoth(child, parent)
	if err != nil {
		return false
	}
	usages := signed.ExtKeyUsage
	if len(usages)+len(signed.UnknownExtKeyUsage) == 0 || slices.Contains(usages, x509.ExtKeyUsageAny) {
		usages = append(slices.Clone(usages), x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	}
	at := signed.NotBefore
	if signer.NotBefore.After(at) {
		at = signer.NotBefore
	}
	return permitted(signed, signer, usages, by, at) == nil
}

// permitted returns why one of the verifiers refuses a certificate by an anchor for one of the usages. Beyond what
// crypto/x509 asks for, some do not count anyExtendedKeyUsage of an authority, some hold the common name of a leaf
// without DNS names to the constraints of DNS names, and some refuse a leaf without alternative names under constraints.
func permitted(signed, signer *x509.Certificate, usages []x509.ExtKeyUsage, by Verifiers, at time.Time) error {
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), CurrentTime: at}
	options.Roots.AddCert(signer)
	named := len(signer.ExtKeyUsage)+len(signer.UnknownExtKeyUsage) > 0 && (by.any(OpenSSL|BoringSSL|NSS) ||
		by.any(GnuTLS) && !bytes.Equal(signer.RawSubject, signer.RawIssuer))
	for _, usage := range usages {
		options.KeyUsages = []x509.ExtKeyUsage{usage}
		if _, err := signed.Verify(options); err != nil {
			return err
		}
		if named && !slices.Contains(signer.ExtKeyUsage, usage) {
			return errAnyUsage
		}
	}
	if signed.IsCA {
		return constrainedAlike(signed, signer)
	}
	name := signed.Subject.CommonName
	if by.any(BoringSSL) && name != "" && constraintsOf(signer) != nil && !slices.ContainsFunc(signed.Extensions, isAlternativeNames) {
		return errNoAlternativeNames
	}
	if by.any(OpenSSL|BoringSSL|GnuTLS|NSS|Java) && len(signed.DNSNames) == 0 && name != "" && !permitsDomain(signer, name) {
		return fmt.Errorf("its name constraints do not permit the common name %q, which OpenSSL, GnuTLS, NSS and Java may hold to them in a leaf without DNS names (verifiers of the trust domain names who verifies)", name)
	}
	return nil
}

var (
	errAnyUsage           = errors.New("its extended key usages do not name that of the leaf: OpenSSL, GnuTLS and NSS do not count anyExtendedKeyUsage (verifiers of the trust domain names who verifies)")
	errNoAlternativeNames = errors.New("it has name constraints, and the leaf no alternative names: BoringSSL accepts no common name instead (verifiers of the trust domain names who verifies)")
	errUnconstrained      = errors.New("its name constraints are not those of the intermediate, which may sign other names")
)

// constrainedAlike returns why an intermediate may sign names that its signer must not, nil if it has the same name
// constraints or the signer has none.
func constrainedAlike(signed, signer *x509.Certificate) error {
	if constraints := constraintsOf(signer); constraints != nil && !bytes.Equal(constraints, constraintsOf(signed)) {
		return errUnconstrained
	}
	return nil
}

// permitsDomain reports whether the constraints of an authority permit a DNS name (RFC 5280, 4.2.1.10).
func permitsDomain(signer *x509.Certificate, name string) bool {
	within := func(domain string) bool {
		domain = strings.TrimPrefix(domain, ".")
		return strings.EqualFold(name, domain) || strings.HasSuffix(strings.ToLower(name), "."+strings.ToLower(domain))
	}
	return !slices.ContainsFunc(signer.ExcludedDNSDomains, within) &&
		(len(signer.PermittedDNSDomains) == 0 || slices.ContainsFunc(signer.PermittedDNSDomains, within))
}

// signatureMayHold is signatureHolds without regard to names, and to what crypto/x509 calls insecure.
func signatureMayHold(child, parent []byte) bool {
	signed, signer, err := parseBoth(child, parent)
	if err != nil {
		return false
	}
	err = signer.CheckSignature(signed.SignatureAlgorithm, signed.RawTBSCertificate, signed.Signature)
	var insecure x509.InsecureAlgorithmError
	switch {
	case err == nil, errors.Is(err, x509.ErrUnsupportedAlgorithm):
		return true
	case !errors.As(err, &insecure):
		return false
	}
	// crypto/x509 registers the hash.
	hash := crypto.SHA1.New()
	hash.Write(signed.RawTBSCertificate)
	digest := hash.Sum(nil)
	switch key := signer.PublicKey.(type) {
	case *rsa.PublicKey:
		// MD5 and MD2 are not checked.
		return signed.SignatureAlgorithm != x509.SHA1WithRSA || rsa.VerifyPKCS1v15(key, crypto.SHA1, digest, signed.Signature) == nil
	case *ecdsa.PublicKey:
		return signed.SignatureAlgorithm != x509.ECDSAWithSHA1 || ecdsa.VerifyASN1(key, digest, signed.Signature)
	}
	return true
}

// nameHash is equal for names that some verifier takes for equal.
func nameHash(name *pkix.Name) uint64 {
	sum := fnv.New64a()
	for _, part := range name.Names {
		value, ok := part.Value.(string)
		if !ok {
			value = fmt.Sprint(part.Value)
		}
		fmt.Fprintf(sum, "%s=%q,", part.Type, strings.ToLower(strings.Join(strings.Fields(value), " ")))
	}
	return sum.Sum64()
}
