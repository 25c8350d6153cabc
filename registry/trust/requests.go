// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// rotationRequested reports whether a recorded request, or DeletedDate, asks for a new certificate.
func (a *assessor) rotationRequested(o *Object) bool {
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
func (a *assessor) requestText(o *Object) string {
	switch r := a.rotateRequest(o); {
	case r == nil:
		return " by deleting the annotation " + o.DeletedDate()
	case r.Reason != "":
		return ": " + r.Reason
	}
	return ""
}

// rotateRequest returns the unanswered request to rotate an object, nil if there is none.
func (a *assessor) rotateRequest(o *Object) *Request { return a.open(RequestRotate, o) }

// abortRequest returns the request to abort the rotation in flight, nil if there is none.
func (a *assessor) abortRequest() *Request { return a.open(RequestAbort, &a.d.Signer.Object) }

func (a *assessor) open(kind RequestKind, o *Object) *Request {
	r := a.requested(kind, o.Name)
	if r == nil || r.answeredBy(o) {
		return nil
	}
	return r
}

func (r *Request) answeredBy(o *Object) bool {
	return slices.Contains(strings.Fields(o.Annotations[AnnotationAnswered]), r.ID)
}

func (a *assessor) requested(kind RequestKind, name string) *Request {
	for i := range a.d.Requests {
		if r := &a.d.Requests[i]; r.Kind == kind && r.Secret == name {
			return r
		}
	}
	return nil
}

// answers returns the annotation that names the request which a write answers, beside answered requests whose records
// still exist. From that write on the request has no effect.
func (a *assessor) answers(o *Object, r *Request) map[string]string {
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

// answered returns the requests whose records must be deleted: answered ones, aborts of a rotation that is over, and
// those for objects that the domain does not have.
func (a *assessor) answered(out *Assessment) []Action {
	var actions []Action
	for i := range a.d.Requests {
		r := &a.d.Requests[i]
		reason := a.answer(r, out.Stage)
		if reason == "" {
			continue
		}
		actions = append(actions, Action{
			Kind: ClearRequest, ObjectKind: RecordKind, Object: r.Record, Request: r, Reason: reason,
		})
	}
	return actions
}

// answer says why a request has no effect any more, "" while it has.
func (a *assessor) answer(r *Request, stage Stage) string {
	s := &a.d.Signer
	switch object := a.requestedObject(r); {
	case object == nil:
		return "there is no Secret/" + r.Secret + " in the trust domain"
	case r.answeredBy(object):
		return "it was answered"
	case r.Kind == RequestAbort && s.Next == nil:
		return "there is nothing to abort in the stage " + string(stage)
	}
	return ""
}

func (a *assessor) requestedObject(r *Request) *Object {
	if r.Secret == a.d.Signer.Name {
		return &a.d.Signer.Object
	}
	if l := a.leaves[r.Secret]; l != nil && r.Kind == RequestRotate {
		return &l.Object
	}
	return nil
}

// compromised reports whether a CA was declared compromised when its rotation began. Such a rotation takes the same
// safe path, as nothing else keeps handshakes alive. But it is not paced, and the compromised CA signs only what is
// missing or expired.
func (a *assessor) compromised(ca *pki.Certificate) bool {
	return ca != nil && a.d.Signer.Annotations[AnnotationCompromised] == string(ca.Fingerprint)
}

func (a *assessor) anyCompromised() bool {
	return slices.ContainsFunc(a.d.Signer.slots(), a.compromised)
}

func (a *assessor) declaresCompromise() bool {
	r := a.rotateRequest(&a.d.Signer.Object)
	return r != nil && r.Compromised
}

// breaksNow lists the leaves, with their verifiers, that would be refused if the active CA were distrusted at once.
func (a *assessor) breaksNow() []string {
	if a.d.Signer.Active == nil {
		return nil
	}
	var out []string
	for _, leaf := range a.under[a.d.Signer.Active.Fingerprint] {
		_, name, _ := strings.Cut(leaf, "/")
		out = append(out, leaf+" at "+strings.Join(membersOf(a.verifiers[name]), ", "))
	}
	return out
}
