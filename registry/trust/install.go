// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// The next CA of an intermediate is signed outside: certrotation has no key of its root, and would break the chain with a
// self-signed one.
//
//	rotate ─► RequestAuthority ─► kubectl certrotation csr ─► root ─► install-ca ─► InstallNext ─► a rotation as any
//	          key and request                                                       slot next
//
// The key is made in the signer Secret and never leaves it.

// isIntermediate reports whether another CA has signed the active one.
func (a *facts) isIntermediate() bool {
	active := a.d.Signer.Active
	return active != nil && a.d.WrittenBy == "" && a.d.Signer.Issued == nil && !active.SelfSigned()
}

// awaitsAuthority reports whether a key waits for its certificate.
func (a *facts) awaitsAuthority() bool { return a.d.Signer.Request != nil && a.d.Signer.Next == nil }

// installRequest returns the unanswered request to install a CA, nil if there is none.
func (a *facts) installRequest() *Request { return a.open(RequestInstall, &a.d.Signer.Object) }

// requestAuthority makes the key of the next CA and a request for it. The rotation waits for the certificate.
func (a *choice) requestAuthority(reason string) *Action {
	s := &a.d.Signer
	if s.Request != nil {
		return nil
	}
	action := a.signerAction(RequestAuthority, reason)
	m := MetadataOfSigner(a.d.Name, s.Active, s.Policy)
	if a.declaresCompromise() {
		m.Annotations[AnnotationCompromised] = string(s.Active.Fingerprint)
	}
	maps.Copy(m.Annotations, a.answers(&s.Object, a.rotateRequest(&s.Object)))
	action.Annotations, action.Labels = m.Annotations, m.Labels
	return action
}

// installNext puts the CA that was made for the request into the slot next, with its issuers.
func (a *choice) installNext(out *Assessment) *Action {
	r := a.installRequest()
	if r == nil || !a.awaitsAuthority() || out.InFlight() || slices.ContainsFunc(out.Problems, Problem.blocks) || a.checkInstall(r.Certificates) != nil {
		return nil
	}
	s := &a.d.Signer
	ca, _ := installed(s.Request, r.Certificates)
	action := a.signerAction(InstallNext, "the CA that was requested is "+ca.Subject)
	action.Request, action.Authority, action.Irreversible = r, ca.Fingerprint, true
	action.Annotations = map[string]string{AnnotationPlan: finish(a.planSigner()).Hash}
	maps.Copy(action.Annotations, a.answers(&s.Object, r))
	return a.withKey(action)
}

// dropRequest gives up a key for which no CA was installed.
func (a *choice) dropRequest(*Assessment) *Action {
	s := &a.d.Signer
	if !a.awaitsAuthority() || a.abortRequest() == nil {
		return nil
	}
	action := a.signerAction(DropRequest, "an abort was requested and no CA is installed yet")
	action.RemoveAnnotations = []string{AnnotationCompromised}
	action.Annotations = a.answers(&s.Object, a.abortRequest())
	return action
}

// authorityAwaited is the blocker of a rotation that waits for its CA.
func (a *decision) authorityAwaited() []Blocker {
	if !a.awaitsAuthority() || a.installRequest() != nil {
		return nil
	}
	return []Blocker{{Object: secret(a.d.Signer.Name), Reason: ReasonAuthorityRequested, Message: a.authorityAwaitedText()}}
}

func (a *decision) authorityAwaitedText() string {
	s, issuer := &a.d.Signer, "its issuer"
	if s.Active != nil && !s.Active.SelfSigned() {
		issuer = s.Active.Issuer
	}
	return fmt.Sprintf("waits for the certificate of its new CA %[1]s: print the request with `kubectl certrotation csr -n %[2]s %[3]s`, "+
		"have %[4]s sign it, and hand it over with `kubectl certrotation install-ca -n %[2]s %[3]s FILE`",
		s.Request.Subject, a.d.Namespace, s.Name, issuer)
}

// installed returns the certificate of the requested key, nil if there is none, and the others.
func installed(request *pki.AuthorityRequest, certs []*pki.Certificate) (ca *pki.Certificate, issuers []*pki.Certificate) {
	for _, cert := range certs {
		if ca == nil && cert.PublicKeyHash == request.PublicKeyHash {
			ca = cert
		} else {
			issuers = append(issuers, cert)
		}
	}
	return ca, issuers
}

// withInstalled returns the domain with the certificates in the slot next.
func (d *Domain) withInstalled(ca *pki.Certificate, issuers []*pki.Certificate) *Domain {
	out := *d
	out.Signer.Next, out.Signer.Request = ca, nil
	out.Signer.Issuers = pki.Distinct(slices.Concat(d.Signer.Issuers, issuers))
	return &out
}

// checkInstall returns why certificates are not installed as the next CA.
func (a *decision) checkInstall(certs []*pki.Certificate) *Refusal {
	refuse := func(i Invariant, format string, args ...any) *Refusal {
		return &Refusal{Invariant: i, Message: fmt.Sprintf(format, args...)}
	}
	s := &a.d.Signer
	if !a.awaitsAuthority() {
		return refuse(ContentDecides, "%s has requested no CA: ask for a rotation first, with `kubectl certrotation rotate -n %s %s`", secret(s.Name), a.d.Namespace, s.Name)
	}
	ca, issuers := installed(s.Request, certs)
	if ca == nil {
		return refuse(PairMatches, "no certificate is for the key of the request %s: %s; have the output of `kubectl certrotation csr -n %s %s` signed",
			s.Request.Subject, subjectsOf(certs), a.d.Namespace, s.Name)
	}
	if !ca.IsCA {
		return refuse(TrustBeforeUse, "%s is no CA: have it signed with basicConstraints CA:TRUE and keyUsage keyCertSign", ca.Subject)
	}
	after := a.d.withInstalled(ca, issuers)
	path := after.issuersOf(ca)
	if len(path) == 0 {
		return refuse(TrustBeforeUse, "the root of %s is not known: add its issuers, from %s up to the self-signed root", ca.Subject, ca.Issuer)
	}
	for _, cert := range append([]*pki.Certificate{ca}, path...) {
		if !cert.ValidAt(a.now) {
			return refuse(TrustBeforeUse, "%s is valid from %s to %s, not now", cert.Subject, cert.NotBefore.UTC().Format(time.RFC3339), cert.NotAfter.UTC().Format(time.RFC3339))
		}
		if other := a.namesake(cert); other != nil {
			return refuse(ContentDecides, "another CA of %s has the subject %s, with another key: no evidence could tell which of them a server has loaded", a.d.Name, cert.Subject)
		}
	}
	if err := ca.CheckPath(path, a.d.Verifiers); err != nil {
		return refuse(TrustBeforeUse, "%v", err)
	}
	if misfits := misfitsOf(after, ca); len(misfits) > 0 {
		return refuse(TrustBeforeUse, "%s", misfits[0].refusal(ca))
	}
	return nil
}

// namesake returns a CA of the domain with the name of another one and a key of its own.
func (a *facts) namesake(ca *pki.Certificate) *pki.Certificate {
	at := slices.IndexFunc(a.authorities, func(known *pki.Certificate) bool {
		return known.SubjectHash == ca.SubjectHash && known.PublicKeyHash != ca.PublicKeyHash
	})
	if at < 0 {
		return nil
	}
	return a.authorities[at]
}

// answerInstall says why a request to install a CA has no effect any more, "" while it has.
func (a *decision) answerInstall(r *Request) string {
	if refusal := a.checkInstall(r.Certificates); refusal != nil {
		return "it is refused: " + strings.ToLower(refusal.Message[:1]) + refusal.Message[1:]
	}
	return ""
}
