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
	// GenerateActive makes the first CA in the slot active. It is used only where no live leaf could be cut off.
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
	// WriteTrustStores writes the trust stores of the bundle, whose anchors stay.
	WriteTrustStores ActionKind = "WriteTrustStores"
	// DestroyPrevious removes the previous keys.
	DestroyPrevious ActionKind = "DestroyPrevious"
	// DropNext removes next on an abort that came in time, and clears the abort request.
	DropNext ActionKind = "DropNext"
	// ClearRequest deletes the record of a request that was answered or cannot be honoured.
	ClearRequest ActionKind = "ClearRequest"
	// DropEvidence deletes an evidence record that nothing needs any more.
	DropEvidence ActionKind = "DropEvidence"
	// RecordRoster writes Roster to its record, always before the key for which it is recorded.
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

// Action is one write that is safe in the assessed state. All actions of one Assessment are safe in any order, also
// when some of them fail.
type Action struct {
	Kind       ActionKind
	ObjectKind ObjectKind
	// Object is the name of the Secret or ConfigMap that is written.
	Object string
	// ResourceVersion that the decision is based on, "" if this action creates the object.
	ResourceVersion string
	// Profile of the certificate to make (GenerateActive, GenerateNext, IssueLeaf).
	Profile pki.Profile
	// Authority is the fingerprint of the CA that signs (IssueLeaf), or that is promoted (Promote).
	Authority pki.Fingerprint
	// Anchors to write, in order (PublishAnchors, RetireAnchors, IssueLeaf, UpdateLeafAnchors). In writes of the
	// bundle, and for WriteTrustStores, the trust stores are made of them.
	Anchors []*pki.Certificate
	// Stores are the trust stores to write with the anchors. Others that AnnotationTrustStores names are removed.
	Stores []TrustStore
	// Roster to write (RecordRoster).
	Roster *Roster
	// Request that is answered (ClearRequest). Its record is deleted if it still has that UID.
	Request *Request
	// Evidence to drop (DropEvidence). Its record is deleted if it still has that UID and resource version.
	Evidence *EvidenceRecord
	// Annotations and Labels to set (all kinds), and annotations to remove. MetadataOfSigner and MetadataOfLeaf add
	// those that derive from a certificate that the action itself makes.
	Annotations, Labels map[string]string
	RemoveAnnotations   []string
	// Irreversible actions are confirmed against live reads first.
	Irreversible bool
	// Reason for the action, for events: a full clause.
	Reason string
	// Urgent actions are exempt from the pace of reissuing.
	Urgent bool
}

// actions lists what may be done now. A write to the signer or the bundle comes alone, so that later steps are
// decided on its result. Leaves are independent of each other.
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

// rebuildLost republishes a lost bundle even if a clock that was ahead recorded something. The operator must delete
// the signer to mend that. Until the bundle is back, only the signer holds the anchor of live leaves.
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

// own returns the anchors that this signer made.
func (a *assessor) own(anchors []*pki.Certificate) []*pki.Certificate {
	return slices.DeleteFunc(slices.Clone(anchors), func(ca *pki.Certificate) bool { return a.slot(ca) == SlotForeign })
}

// generateFirst makes the first CA of a domain, or replaces a CA that is lost or expired. The replaced CA becomes
// previous, as in every rotation.
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
		// The new CA signs at once, so confirm first that no leaf depends on another one.
		first.Irreversible = true
		first.Annotations = a.answers(&s.Object, a.rotateRequest(&s.Object))
		return a.withKey(first)
	case s.Active == nil:
		return a.withKey(a.signerAction(GenerateNext, "it does not exist, and leaves that may be live depend on a CA whose key is lost"))
	case s.Next == nil:
		// No stage can end with an expired CA.
		return a.withKey(a.signerAction(GenerateNext, a.wanted()+", and leaves that may be live depend on another CA"))
	}
	return nil
}

func (a *assessor) usable(ca *pki.Certificate) bool { return ca != nil && !ca.Expired(a.now) }

// dropExpired drops a next CA that has expired, so that a rotation that was held up too long can start again. The
// dropped CA becomes previous: its key is destroyed once its anchor has left the bundle.
func (a *assessor) dropExpired(*Assessment) *Action {
	s := &a.d.Signer
	if s.Next == nil || s.Active == nil || a.usable(s.Next) {
		return nil
	}
	action := a.signerAction(DropNext, "the new CA expired before everybody had loaded it")
	return action
}

// publish adds missing anchors to the bundle once they are beside every leaf. A member that shows evidence of the
// bundle has then also started with those anchors. A lost bundle is rebuilt first, with what is in use.
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

// aborts reports whether an abort of the rotation in flight is requested and possible.
func (a *assessor) aborts() bool { return a.abortRequest() != nil && a.abortable() }

// dropsNext reports whether next must go: on request, or because a clock that was ahead made it.
func (a *assessor) dropsNext() bool { return a.aborts() || a.madeAhead() }

// abortable reports whether a rotation is in flight and nothing depends on next. If the active CA has expired, next
// may go only if it cannot sign every leaf: the controller then makes another one.
func (a *assessor) abortable() bool {
	s := &a.d.Signer
	return s.Next != nil && a.liveUnder(s.Next) == 0 && (a.usable(s.Active) || len(a.misfitsOf(s.Next)) > 0)
}

// abort drops next while nothing depends on it.
func (a *assessor) abort(*Assessment) *Action {
	s := &a.d.Signer
	if !a.dropsNext() {
		return nil
	}
	reason := "an abort was requested and no leaf is signed by the new CA"
	if a.madeAhead() {
		reason = "the new CA was made by a clock that was ahead, and no leaf is signed by it"
	}
	action := a.signerAction(DropNext, reason)
	// The active CA must sign again, so an abort withdraws the declaration of its compromise.
	action.RemoveAnnotations = []string{AnnotationCompromised}
	action.Annotations = a.answers(&s.Object, a.abortRequest())
	return action
}

// promote makes next active once every member trusts it, or where no leaf could be cut off.
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
	// Members that count now count until the rotation ends. Confirm them, as the configuration may have been edited
	// before the request.
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

// retire removes the anchors from the bundle that nothing needs any more.
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
