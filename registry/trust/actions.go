// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// ActionKind says what an Action does.
type ActionKind string

// Action kinds. Each is exactly one write to one object.
const (
	// GenerateActive makes the first CA in the slot active. Only where no live leaf could be cut off.
	GenerateActive ActionKind = "GenerateActive"
	// GenerateNext makes a CA in the slot next and clears a rotation request.
	GenerateNext ActionKind = "GenerateNext"
	// PublishAnchors writes Anchors to the bundle; it only ever adds.
	PublishAnchors ActionKind = "PublishAnchors"
	// IssueLeaf signs a new pair for the leaf Object with the CA Authority and clears a rotation request.
	IssueLeaf ActionKind = "IssueLeaf"
	// UpdateLeafAnchors writes Anchors beside the leaf Object, whose certificate and key stay.
	UpdateLeafAnchors ActionKind = "UpdateLeafAnchors"
	// Promote makes next active and keeps the former active as previous.
	Promote ActionKind = "Promote"
	// RetireAnchors writes Anchors to the bundle: what is left after the unused ones are gone.
	RetireAnchors ActionKind = "RetireAnchors"
	// WriteTrustStores writes the trust stores of the bundle, whose anchors stay as they are.
	WriteTrustStores ActionKind = "WriteTrustStores"
	// DestroyPrevious removes the previous keys.
	DestroyPrevious ActionKind = "DestroyPrevious"
	// DropNext removes next on an abort that came in time, and clears the abort request.
	DropNext ActionKind = "DropNext"
	// ClearRequest deletes the record of a request that was answered, or that cannot be honoured.
	ClearRequest ActionKind = "ClearRequest"
	// DropEvidence deletes a record of evidence that nobody needs any more.
	DropEvidence ActionKind = "DropEvidence"
	// RecordRoster writes Roster to its record, always before the key that it is for.
	RecordRoster ActionKind = "RecordRoster"
	// RecordMetadata brings annotations and labels up to date with the content.
	RecordMetadata ActionKind = "RecordMetadata"
)

// ObjectKind is the kind of the object that an action writes.
type ObjectKind string

// Object kinds.
const (
	SecretKind    ObjectKind = "Secret"
	ConfigMapKind ObjectKind = "ConfigMap"
	RecordKind    ObjectKind = "RotationRecord"
)

// Action is one write that is safe in the state that was assessed. All actions of one Assessment are safe in any order
// and when any of them fails.
type Action struct {
	Kind       ActionKind
	ObjectKind ObjectKind
	// Object is the name of the Secret or ConfigMap that is written.
	Object string
	// ResourceVersion that the decision was made on, "" if the object is created by this action.
	ResourceVersion string
	// Profile of the certificate to make (GenerateActive, GenerateNext, IssueLeaf).
	Profile pki.Profile
	// Authority is the fingerprint of the CA that signs (IssueLeaf), or that is promoted (Promote).
	Authority pki.Fingerprint
	// Anchors to write, in order (PublishAnchors, RetireAnchors, IssueLeaf, UpdateLeafAnchors), and of which to write trust stores
	// (those of the bundle, and WriteTrustStores).
	Anchors []*pki.Certificate
	// Stores are the trust stores that are written with the anchors. Those that AnnotationTrustStores names besides are removed.
	Stores []TrustStore
	// Roster to write (RecordRoster).
	Roster *Roster
	// Request that is answered (ClearRequest): its record is deleted if it still has that UID.
	Request *Request
	// Evidence that nobody needs (DropEvidence): its record is deleted if it still has that UID and resource version.
	Evidence *EvidenceRecord
	// Annotations and Labels to set (all kinds) and annotations to remove. Annotations that are derived from a
	// certificate that the action itself makes are added by MetadataOf.
	Annotations, Labels map[string]string
	RemoveAnnotations   []string
	// Irreversible actions are confirmed against live reads before they are done.
	Irreversible bool
	// Reason says why, for events: a full clause.
	Reason string
	// Urgent actions are not held back by the pace of reissuing.
	Urgent bool
}

// actions lists what may be done now. A write to the signer or the bundle comes alone, so that everything after it is
// decided on its result; leaves are independent of each other.
func (a *assessor) actions(out *Assessment, issues []Action) []Action {
	if a.d.RosterProblem != nil || a.d.Signer.Problem != nil || a.d.Bundle.Problem != nil || out.has(ReasonOutlived) {
		return nil
	}
	if unwritable("", &a.d.Signer.Object) != nil || unwritable("", &a.d.Bundle.Object) != nil {
		return nil
	}
	if out.ClockDoubted() {
		return a.rebuildLost(out)
	}
	for _, step := range []func(*Assessment) *Action{
		a.recordRoster, a.generateFirst, a.dropExpired, a.publish, a.mendStores, a.recordNeverSigned, a.abort, a.promote, a.generateNext,
	} {
		if action := step(out); action != nil {
			return []Action{*action}
		}
	}
	if action := a.recordIssue(issues); action != nil {
		return []Action{*action}
	}
	issues = append(issues, a.updateAnchors(issues)...)
	if cleared := a.answered(out); len(cleared)+len(issues) > 0 {
		return append(cleared, issues...)
	}
	for _, step := range []func(*Assessment) *Action{a.retire, a.destroyPrevious} {
		if action := step(out); action != nil {
			return []Action{*action}
		}
	}
	return append(a.recordMetadata(), a.dropEvidence()...)
}

// rebuildLost publishes a lost bundle again although something was recorded by a clock that was ahead: until then the signer, which is to be
// deleted for that, is all that has the anchor of live leaves.
func (a *assessor) rebuildLost(out *Assessment) []Action {
	if a.d.Bundle.Present || a.skewProblem() != nil || a.tooEarly(a.d.Signer.Active) {
		return nil
	}
	if action := a.publish(out); action != nil {
		return []Action{*action}
	}
	return nil
}

func (a *assessor) signerAction(kind ActionKind, reason string) *Action {
	s := &a.d.Signer
	return &Action{
		Kind: kind, ObjectKind: SecretKind, Object: s.Name, ResourceVersion: s.ResourceVersion,
		Profile: s.Policy.Profile, Reason: reason,
	}
}

func (a *assessor) bundleAction(kind ActionKind, anchors []*pki.Certificate, reason string) *Action {
	b := &a.d.Bundle
	m := MetadataOfBundle(a.d.Name, a.own(anchors), a.published, a.d.Recorded(a.now))
	return a.withStores(&Action{
		Kind: kind, ObjectKind: ConfigMapKind, Object: b.Name, ResourceVersion: b.ResourceVersion,
		Anchors: anchors, Annotations: m.Annotations, Labels: m.Labels, Reason: reason,
	})
}

// own are the anchors that this signer made.
func (a *assessor) own(anchors []*pki.Certificate) []*pki.Certificate {
	return slices.DeleteFunc(slices.Clone(anchors), func(ca *pki.Certificate) bool { return a.slot(ca) == SlotForeign })
}

// generateFirst makes the first CA of a domain, or replaces a CA that is lost or dead. What it replaces becomes previous, as
// what every rotation replaces does.
func (a *assessor) generateFirst(*Assessment) *Action {
	s := &a.d.Signer
	switch {
	case a.usable(s.Next) || a.usable(s.Active):
		return nil
	case !a.anyLive():
		reason := "it does not exist and no leaf is live"
		if s.Active != nil {
			reason = a.wanted() + " and no leaf is live"
		}
		first := a.signerAction(GenerateActive, reason)
		// It signs at once: whether anybody still needs another one is asked again.
		first.Irreversible = true
		first.Annotations = a.answers(&s.Object, a.rotateRequest(&s.Object))
		return a.withKey(first)
	case s.Active == nil:
		return a.withKey(a.signerAction(GenerateNext, "it does not exist, and leaves that may be live depend on a CA whose key is lost"))
	case s.Next == nil:
		// Whatever the stage is, it cannot end by a CA that is dead.
		return a.withKey(a.signerAction(GenerateNext, a.wanted()+", and leaves that may be live depend on another CA"))
	}
	return nil
}

// usable says whether there is a CA that has not expired.
func (a *assessor) usable(ca *pki.Certificate) bool { return ca != nil && !ca.Expired(a.now) }

// dropExpired drops a CA that nobody waits for any more, so that a rotation that was held up for too long can begin anew. A CA
// that is dropped becomes previous: its key is destroyed when its anchor has left the bundle.
func (a *assessor) dropExpired(*Assessment) *Action {
	s := &a.d.Signer
	if s.Next == nil || s.Active == nil || a.usable(s.Next) {
		return nil
	}
	action := a.signerAction(DropNext, "the new CA expired before everybody had loaded it")
	return action
}

// publish adds what is missing to the bundle, when it is beside every leaf: who shows that it has loaded the bundle has also started
// with that. A bundle that was lost is rebuilt first, with what is in use.
func (a *assessor) publish(*Assessment) *Action {
	missing := a.unpublished()
	unspread := func(ca *pki.Certificate) bool { return len(a.withoutAnchor(ca)) > 0 }
	if len(a.d.Bundle.Anchors) == 0 {
		next := a.d.Signer.Next
		missing = slices.DeleteFunc(missing, func(ca *pki.Certificate) bool { return same(ca, next) && a.liveUnder(ca) == 0 && unspread(ca) })
	} else if slices.ContainsFunc(missing, unspread) {
		return nil
	}
	if len(missing) == 0 {
		return nil
	}
	return a.bundleAction(PublishAnchors, append(slices.Clone(a.d.Bundle.Anchors), missing...), "it lacks "+subjectsOf(missing))
}

// aborts says whether the rotation in flight is to end, and may.
func (a *assessor) aborts() bool { return a.abortRequest() != nil && a.abortable() }

// abortable says whether a rotation is in flight and nothing depends on next. One that may not sign every leaf is no way out of an active CA
// that has expired: without it another one is made.
func (a *assessor) abortable() bool {
	s := &a.d.Signer
	return s.Next != nil && a.liveUnder(s.Next) == 0 && (a.usable(s.Active) || len(a.misfitsOf(s.Next)) > 0)
}

// abort drops next while nothing depends on it: on request, and if it was made by a clock that was ahead.
func (a *assessor) abort(*Assessment) *Action {
	s := &a.d.Signer
	reason := "an abort was requested and no leaf is signed by the new CA"
	if a.madeAhead() {
		reason = "the new CA was made by a clock that was ahead, and no leaf is signed by it"
	} else if !a.aborts() {
		return nil
	}
	action := a.signerAction(DropNext, reason)
	// Without a rotation the active CA has to sign again; whoever aborts takes its word for good.
	action.RemoveAnnotations = []string{AnnotationCompromised}
	action.Annotations = a.answers(&s.Object, a.abortRequest())
	return action
}

// promote makes next active once every member trusts it, or where nobody can be cut off.
func (a *assessor) promote(*Assessment) *Action {
	s := &a.d.Signer
	if s.Next == nil || !s.Next.ValidAt(a.now) || len(a.misfitsOf(s.Next)) > 0 {
		return nil
	}
	reason := "every relying party has loaded " + s.Next.Subject
	if len(a.waitsForAll(s.Next)) > 0 {
		if a.restorable() || a.anyLive() {
			return nil
		}
		reason = "no leaf is live, so nobody can be cut off by " + s.Next.Subject
	}
	action := a.signerAction(Promote, reason)
	action.Authority = s.Next.Fingerprint
	m := MetadataOfSigner(a.d.Name, s.Next, s.Policy)
	m.Annotations[AnnotationPromotedAt] = stamp(a.d.Recorded(a.now))
	action.Annotations, action.Labels = m.Annotations, m.Labels
	action.Irreversible = true
	return action
}

// generateNext starts a rotation that is wanted, if none is in flight (OneRotation).
func (a *assessor) generateNext(out *Assessment) *Action {
	s := &a.d.Signer
	reason := a.wanted()
	if reason == "" || out.InFlight() || slices.ContainsFunc(out.Problems, Problem.blocks) {
		return nil
	}
	action := a.signerAction(GenerateNext, reason)
	// Who counts now does so until the rotation ends, so it must not be by a configuration that was edited before it was asked for.
	action.Irreversible = true
	m := MetadataOfSigner(a.d.Name, s.Active, s.Policy)
	m.Annotations[AnnotationPlan] = finish(a.planSigner()).Hash
	if a.declaresCompromise() {
		m.Annotations[AnnotationCompromised] = string(s.Active.Fingerprint)
	}
	maps.Copy(m.Annotations, a.answers(&s.Object, a.rotateRequest(&s.Object)))
	action.Annotations, action.Labels = m.Annotations, m.Labels
	return a.withKey(action)
}

// retire takes the anchors out of the bundle that nothing needs any more.
func (a *assessor) retire(out *Assessment) *Action {
	if out.Stage != Draining && out.Stage != Retiring {
		return nil
	}
	keep := make([]*pki.Certificate, 0, len(out.Anchors))
	var gone []string
	for _, aa := range out.Anchors {
		if aa.SafeToRemove && (aa.Slot == SlotPrevious || aa.Slot == SlotRetired) {
			gone = append(gone, aa.Certificate.Subject)
			continue
		}
		keep = append(keep, aa.Certificate)
	}
	if len(gone) == 0 || len(keep) == 0 {
		return nil
	}
	action := a.bundleAction(RetireAnchors, keep, fmt.Sprintf("no live leaf chains to %s", strings.Join(gone, " and ")))
	action.Irreversible = true
	return action
}

// destroyPrevious removes the keys of CAs whose anchors are gone.
func (a *assessor) destroyPrevious(out *Assessment) *Action {
	if out.Stage != Retiring || len(a.d.Signer.Previous) == 0 || len(a.former()) > 0 {
		return nil
	}
	action := a.signerAction(DestroyPrevious, "its anchors have left the bundle")
	action.RemoveAnnotations = []string{AnnotationCompromised}
	action.Irreversible = true
	return action
}
