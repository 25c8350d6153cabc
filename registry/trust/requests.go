// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// rotationRequested reports whether a recorded request, or DeletedDate, asks for a new certificate.
func (a *facts) rotationRequested(o *Object) bool {
	return a.rotateRequest(o) != nil || o.DeletedDate() != ""
}

// DeletedDate returns the annotation that a user has deleted or emptied to request a new certificate, as users of
// library-go do: certificate-not-after or certificate-not-before. It returns "" if both are set, and if the object
// has none of the annotations of a certificate: then it was not adopted yet.
func (o *Object) DeletedDate() string {
	has := func(key string) bool { _, ok := o.Annotations[key]; return ok }
	switch {
	case !slices.ContainsFunc([]string{AnnotationNotBefore, AnnotationNotAfter, AnnotationIssuer}, has):
	case o.Annotations[AnnotationNotAfter] == "":
		return AnnotationNotAfter
	case o.Annotations[AnnotationNotBefore] == "":
		return AnnotationNotBefore
	}
	return ""
}

// requestText is the reason of a request, as the end of a clause.
func (a *facts) requestText(o *Object) string {
	switch r := a.rotateRequest(o); {
	case r == nil:
		return " by deleting the annotation " + o.DeletedDate()
	case r.Reason != "":
		return ": " + r.Reason
	}
	return ""
}

// rotateRequest returns the unanswered request to rotate an object, nil if there is none.
func (a *facts) rotateRequest(o *Object) *Request { return a.open(RequestRotate, o) }

// abortRequest returns the request to abort the rotation in flight, nil if there is none.
func (a *facts) abortRequest() *Request { return a.open(RequestAbort, &a.d.Signer.Object) }

func (a *facts) open(kind RequestKind, o *Object) *Request {
	r := a.requested(kind, o.Name)
	if r == nil || r.answeredBy(o) {
		return nil
	}
	return r
}

func (r *Request) answeredBy(o *Object) bool {
	return slices.Contains(strings.Fields(o.Annotations[AnnotationAnswered]), r.ID)
}

func (a *facts) requested(kind RequestKind, name string) *Request {
	for i := range a.d.Requests {
		if r := &a.d.Requests[i]; r.Kind == kind && r.Secret == name {
			return r
		}
	}
	return nil
}

// answers returns the annotation that names the request which a write answers, beside answered requests whose records
// still exist. From that write on the request has no effect.
func (a *facts) answers(o *Object, r *Request) map[string]string {
	if r == nil {
		return nil
	}
	ids := []string{r.ID}
	for i := range a.d.Requests {
		if other := &a.d.Requests[i]; other.Secret == o.Name && other.answeredBy(o) {
			ids = append(ids, other.ID)
		}
	}
	return map[string]string{AnnotationAnswered: strings.Join(ids, " ")}
}

// compromised reports whether a CA was declared compromised when its rotation began. Such a rotation takes the same
// safe path, as nothing else keeps handshakes alive. But it is not paced, and the compromised CA signs only what is
// missing or expired.
func (a *facts) compromised(ca *pki.Certificate) bool {
	return ca != nil && a.d.Signer.Annotations[AnnotationCompromised] == string(ca.Fingerprint)
}

func (a *facts) anyCompromised() bool {
	return slices.ContainsFunc(a.d.Signer.slots(), a.compromised)
}

func (a *facts) declaresCompromise() bool {
	r := a.rotateRequest(&a.d.Signer.Object)
	return r != nil && r.Compromised
}

// longestWaiver bounds a waiver: after a month the member should leave the configuration.
const longestWaiver = 30 * 24 * time.Hour

// waiver returns the waiver in force for a member, or nil.
func (a *facts) waiver(p *Party, m *Member) *Waiver {
	for i := range a.d.Waivers {
		w := &a.d.Waivers[i]
		if w.Party == p.Name && w.Member == m.Name && a.inForce(w) {
			return w
		}
	}
	return nil
}

// inForce reports whether a waiver has not ended and is for the current rotation.
func (a *facts) inForce(w *Waiver) bool {
	return w.Expires.After(a.now) && w.Rotation == a.rotation()
}

// WaiversInForce returns the waivers that have not ended and are for the current rotation.
func WaiversInForce(d *Domain, now time.Time) []Waiver {
	// The CAs alone identify the rotation.
	a := &facts{d: d, now: now}
	return slices.DeleteFunc(slices.Clone(d.Waivers), func(w Waiver) bool { return !a.inForce(&w) })
}

// RotationOf returns the rotation in flight. At rest it is from the active CA to none.
func RotationOf(d *Domain) Rotation { return (&facts{d: d}).rotation() }

func (a *facts) rotation() Rotation {
	var out Rotation
	from := a.rotatedFrom()
	if from != nil {
		out.From = from.Fingerprint
	}
	if to := a.rotatedTo(from); to != nil {
		out.To = to.Fingerprint
	}
	return out
}

// rotatedTo returns the CA that the rotation in flight introduces, nil at rest. After an abort that is the youngest CA
// which never became active, until its anchor is gone.
func (a *facts) rotatedTo(from *pki.Certificate) *pki.Certificate {
	s := &a.d.Signer
	switch {
	case s.Next != nil:
		return s.Next
	case !same(s.Active, from):
		return s.Active
	}
	var to *pki.Certificate
	for _, ca := range slices.Concat(s.Previous, a.earlier()) {
		if !a.isRoot(ca) && !sameKey(ca, s.Active) && !a.wasActive(ca) && (to == nil || ca.NotBefore.After(to.NotBefore)) {
			to = ca
		}
	}
	return to
}

// rotatedFrom returns the CA that was active when the rotation in flight began; at rest, the active CA; nil if there
// is none. If its key was lost, its anchor tells. It reads only CAs: the evidence of members depends on their
// waivers, and those depend on this. A CA that was renewed with its key is no other CA.
func (a *facts) rotatedFrom() *pki.Certificate {
	s := &a.d.Signer
	from := s.Active
	if s.Next != nil && from != nil {
		return from
	}
	for _, ca := range slices.Concat(s.Previous, a.earlier()) {
		if !a.isRoot(ca) && !sameKey(ca, s.Active) && a.wasActive(ca) && (same(from, s.Active) || from == nil || ca.NotBefore.After(from.NotBefore)) {
			from = ca
		}
	}
	return from
}
