// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// Findings judges what was added, and returns all findings, sorted.
func (s *Survey) Findings() []Finding {
	judged := map[pki.Fingerprint]bool{}
	once := func(c *pki.Certificate) bool {
		again := judged[c.Fingerprint]
		judged[c.Fingerprint] = true
		return !again
	}
	for _, p := range s.presented {
		if once(p.cert) {
			s.judgeCertificate(p.Place, p.cert)
			s.judgeNames(p)
			s.judgeUse(p)
			s.judgeSigner(p)
		}
		s.judgeOwn(p)
		for _, c := range p.chain {
			if once(c) {
				s.judgeCertificate(p.Place, c)
			}
		}
	}
	for _, b := range s.bundles {
		for _, c := range b.anchors {
			if once(c) {
				s.judgeCertificate(b.Place, c)
			}
		}
		s.judgeAnchors(b)
	}
	out := slices.Clone(s.found)
	Sort(out)
	return out
}

// subject names a certificate for people.
func subject(c *pki.Certificate) string { return fmt.Sprintf("%.200q", c.Subject) }

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (s *Survey) judgeCertificate(at Place, c *pki.Certificate) {
	what := "the certificate of " + subject(c)
	if c.IsCA {
		what = "the CA " + subject(c)
	}
	switch {
	case c.Expired(s.now):
		s.add(Expired, s.severityOfExpired(c), at, what+" expired at "+date(c.NotAfter), "renew it, and all that it signed")
	case s.now.Before(c.NotBefore):
		s.add(NotYetValid, Error, at, what+" is not valid before "+date(c.NotBefore), "wait until then, or put the clock of its issuer right")
	case c.Expired(s.now.Add(s.within)):
		s.add(ExpiresSoon, Warning, at, what+" expires at "+date(c.NotAfter), "renew it before")
	}
	var bits int
	if n, _ := fmt.Sscanf(string(c.KeyAlgorithm), "RSA-%d", &bits); n == 1 && bits < 2048 {
		s.add(WeakKey, Error, at, fmt.Sprintf("%s has an RSA key of %d bits: verifiers refuse less than 2048", what, bits), "issue it with a new key of at least 2048 bits, or ECDSA P-256")
	}
	if parsed, err := x509.ParseCertificate(c.DER()); err == nil && parsed.Issuer.String() != parsed.Subject.String() && insecure(parsed.SignatureAlgorithm) {
		s.add(WeakSignature, Error, at, fmt.Sprintf("%s is signed with %s: verifiers refuse it", what, parsed.SignatureAlgorithm), "have it signed anew with SHA-256")
	}
}

// severityOfExpired is a warning for an anchor that signed nothing here that still counts.
func (s *Survey) severityOfExpired(c *pki.Certificate) Severity {
	for _, p := range s.presented {
		if p.cert == c || p.cert.MayBeAcceptedBy(c) && !p.cert.Expired(s.now) {
			return Error
		}
	}
	for _, b := range s.bundles {
		if b.Object != "" && len(b.anchors) == 1 && b.anchors[0] == c {
			return Error
		}
	}
	return Warning
}

func insecure(algorithm x509.SignatureAlgorithm) bool {
	return slices.Contains([]x509.SignatureAlgorithm{x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1}, algorithm)
}

func (s *Survey) judgeNames(p *presented) {
	c := p.cert
	if c.IsCA {
		return
	}
	if slices.Contains(c.Usages, pki.ServerAuth) && len(c.DNSNames)+len(c.IPAddresses) == 0 && c.Identities.None() {
		severity := Error
		if slices.Contains(c.Usages, pki.ClientAuth) {
			severity = Warning
		}
		s.add(NoNames, severity, p.Place, "the server certificate of "+subject(c)+" has no subject alternative name: clients do not read the common name",
			"issue it with the DNS names or addresses of the server")
	}
	for _, name := range c.DNSNames {
		if ip, err := netip.ParseAddr(name); err == nil && !slices.Contains(c.IPAddresses, ip.Unmap().String()) {
			s.add(AddressAsName, Error, p.Place, fmt.Sprintf("the certificate of %s has the address %s as a DNS name only: clients do not find it there", subject(c), ip),
				"issue it with the address among the IP addresses")
		}
	}
}

// judgeUse reports a CA whose certificate a server presents while it also signs others: one key has both uses.
func (s *Survey) judgeUse(p *presented) {
	if !p.cert.IsCA || !slices.Contains(p.cert.Usages, pki.ServerAuth) || len(p.cert.DNSNames) == 0 {
		return
	}
	for _, other := range s.presented {
		if other.cert != p.cert && other.cert.MayBeAcceptedBy(p.cert) {
			s.add(CAAsServer, Warning, p.Place, fmt.Sprintf("the CA %s is the certificate of a server and has signed %s: its key is on that server", subject(p.cert), other.Place),
				"issue a certificate of its own for the server")
			return
		}
	}
}

func selfSigned(c *pki.Certificate) bool { return c.Subject == c.Issuer }

// signers returns the CAs here that may have signed a certificate.
func (s *Survey) signers(c *pki.Certificate) []*pki.Certificate {
	var out []*pki.Certificate
	for _, ca := range s.known {
		if ca != c && c.MayBeAcceptedBy(ca) {
			out = append(out, ca)
		}
	}
	slices.SortFunc(out, func(a, b *pki.Certificate) int { return strings.Compare(string(a.Fingerprint), string(b.Fingerprint)) })
	return out
}

// judgeSigner reports a certificate whose CA is here by name, and has another key or ends before it.
func (s *Survey) judgeSigner(p *presented) {
	if selfSigned(p.cert) {
		return
	}
	signers := s.signers(p.cert)
	if len(signers) == 0 {
		if p.own != nil {
			return // judgeOwn says more.
		}
		for _, ca := range s.known {
			if ca.IsCA && ca.Subject == p.cert.Issuer {
				s.add(UnknownSigner, Error, p.Place, fmt.Sprintf("the certificate of %s was not signed by the CA %s that is here, but by another key of that name", subject(p.cert), subject(ca)),
					"issue it anew by the present CA, or add the CA that signed it to the bundles")
				return
			}
		}
		return
	}
	last := signers[0]
	for _, ca := range signers {
		if ca.NotAfter.After(last.NotAfter) {
			last = ca
		}
	}
	if p.cert.NotAfter.After(last.NotAfter) && !last.Expired(s.now) {
		s.add(OutlivesSigner, Warning, p.Place, fmt.Sprintf("the certificate of %s is valid until %s, its CA only until %s: it fails before its own end", subject(p.cert), date(p.cert.NotAfter), date(last.NotAfter)),
			"renew the CA first, then the certificate")
	}
}

// verifies reports whether a bundle may verify a certificate, directly or by its chain.
func (b *bundle) verifies(p *presented) bool {
	if slices.ContainsFunc(b.anchors, p.cert.Equal) {
		return true
	}
	seen, reached := map[*pki.Certificate]bool{}, []*pki.Certificate{p.cert}
	for len(reached) > 0 {
		c := reached[0]
		reached = reached[1:]
		if slices.ContainsFunc(b.anchors, c.MayBeAcceptedBy) || slices.ContainsFunc(b.anchors, c.Equal) {
			return true
		}
		for _, link := range p.chain {
			if !seen[link] && c.MayBeAcceptedBy(link) {
				seen[link] = true
				reached = append(reached, link)
			}
		}
	}
	return false
}

// judgeOwn asks whether the CAs beside a certificate verify it.
func (s *Survey) judgeOwn(p *presented) {
	if p.own == nil || p.own.verifies(p) {
		return
	}
	for _, ca := range s.signers(p.cert) {
		s.add(AnchorMissing, Error, p.own.Place, fmt.Sprintf("lacks the CA %s, which signed the certificate beside it: clients that verify by it refuse the certificate", subject(ca)),
			"add the CA to it before the certificate is used")
		return
	}
	s.add(UnknownSigner, Error, p.Place, fmt.Sprintf("the certificate of %s was signed by none of the CAs in %s beside it", subject(p.cert), p.own.Key),
		"issue it anew by one of them, or add the CA that signed it")
}

func (s *Survey) judgeAnchors(b *bundle) {
	for _, c := range b.anchors {
		if !c.IsCA && !selfSigned(c) {
			s.add(LeafInBundle, Warning, b.Place, fmt.Sprintf("holds the certificate of %s, which is no CA: it verifies nothing but itself, until it is renewed", subject(c)),
				"put the CA that signed it into the bundle")
		}
	}
	var missing *presented
	for _, p := range s.presented {
		if p.group != b.group || b.beside || !b.isFor(p) {
			continue
		}
		if b.verifies(p) {
			if b.server != "" {
				return
			}
			continue
		}
		// Whose CA is not here has a finding of its own, unless the bundle names the server.
		if missing == nil && (b.server != "" || len(s.signers(p.cert)) > 0 && !s.separate(b, p)) {
			missing = p
		}
	}
	if missing != nil {
		s.add(AnchorMissing, Error, b.Place, fmt.Sprintf("lacks the CA %.200q, which signed %s: who verifies by it refuses the certificate", missing.cert.Issuer, missing.Place),
			"add the CA to the bundle before the certificate is used")
	}
}

// isFor reports whether a bundle surely verifies a certificate: it names the server, or holds another generation of
// the certificate's CA.
func (b *bundle) isFor(p *presented) bool {
	if p.cert.IsCA || selfSigned(p.cert) && b.server == "" {
		return false
	}
	if b.server != "" {
		return slices.Contains(p.cert.DNSNames, b.server)
	}
	return slices.ContainsFunc(b.anchors, func(ca *pki.Certificate) bool {
		return ca.IsCA && ca.CommonName != "" && family(ca.CommonName) == family(p.cert.IssuerCommonName)
	})
}

// separate reports whether a bundle and a certificate, whose CAs have one name, belong to two PKIs: the bundle verifies
// another certificate here, and another bundle here this one. A stale copy of a bundle verifies nothing here.
func (s *Survey) separate(b *bundle, p *presented) bool {
	if !slices.ContainsFunc(b.anchors, func(ca *pki.Certificate) bool { return ca.IsCA && ca.CommonName == p.cert.IssuerCommonName }) {
		return false
	}
	return slices.ContainsFunc(s.presented, func(other *presented) bool {
		return other.group == b.group && !other.cert.IsCA && b.verifies(other)
	}) && slices.ContainsFunc(s.bundles, func(other *bundle) bool { return other.group == b.group && other.verifies(p) })
}

// family cuts the time of a generation, as OpenShift and certrotation write it: name@1700000000.
func family(name string) string {
	stem, generation, ok := strings.Cut(name, "@")
	if ok && strings.Trim(generation, "0123456789.") == "" {
		return stem
	}
	return name
}
