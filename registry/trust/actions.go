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
	"certrotation.dev/registry/truststore"
)

// choice is what actions are chosen from: the decision, and the roster to record.
type choice struct {
	*decision
	record *Roster
}

func newChoice(a *decision) *choice { return &choice{decision: a, record: a.toRecord()} }

// actions lists what may be done now. A write to the signer or the bundle comes alone, so that later steps are
// decided on its result. Leaves are independent of each other.
func (a *choice) actions(out *Assessment, issues []Action) []Action {
	if a.d.RosterProblem != nil || a.d.Signer.Problem != nil || a.d.Bundle.Problem != nil || out.has(ReasonOutlived) {
		return nil
	}
	if a.d.WrittenBy != "" {
		return a.recordOnly(out)
	}
	if unwritable("", &a.d.Signer.Object) != nil || unwritable("", &a.d.Bundle.Object) != nil {
		return nil
	}
	if out.ClockDoubted() {
		return a.rebuildLost(out)
	}
	for _, step := range []func(*Assessment) *Action{
		a.recordRoster, a.generateFirst, a.dropExpired, a.publish, a.mendStores, a.recordNeverSigned, a.abort, a.dropRequest, a.promote, a.installNext, a.generateNext,
	} {
		if action := step(out); action != nil {
			return []Action{*action}
		}
	}
	if action := a.recordIssue(issues); action != nil {
		return []Action{*action}
	}
	// The issuer may take its time, so that nothing else waits for it.
	asked, issues := a.asked(issues)
	issues = append(issues, a.updateAnchors(issues)...)
	issues = append(issues, a.writeKeystores(issues)...)
	if cleared := a.answered(out); len(cleared)+len(issues) > 0 {
		return slices.Concat(cleared, issues, asked)
	}
	for _, step := range []func(*Assessment) *Action{a.retire, a.destroyPrevious} {
		if action := step(out); action != nil {
			return append(asked, *action)
		}
	}
	return slices.Concat(asked, a.recordMetadata(), a.dropEvidence())
}

// recordOnly lists the actions for objects that another controller writes: who counts is recorded, and nothing else is
// written.
func (a *choice) recordOnly(out *Assessment) []Action {
	if action := a.recordRoster(out); action != nil {
		return []Action{*action}
	}
	return append(a.answered(out), a.dropEvidence()...)
}

// rebuildLost republishes a lost bundle even if a clock that was ahead recorded something. The operator must delete
// the signer to mend that. Until the bundle is back, only the signer holds the anchor of live leaves.
func (a *decision) rebuildLost(out *Assessment) []Action {
	if a.skewProblem() != nil {
		return nil
	}
	if len(a.d.Bundle.Anchors) > 0 {
		return a.addLost()
	}
	if a.tooEarly(a.d.Signer.Active) {
		next := a.d.Signer.Next
		known := slices.DeleteFunc(a.unpublished(), func(ca *pki.Certificate) bool {
			return a.tooEarly(ca) || a.ended(ca) || a.isOnlyNexts(ca) && a.liveUnder(next) == 0
		})
		if len(known) > 0 {
			return []Action{*a.bundleAction(PublishAnchors, a.d.Bundle.with(nil, known...), "it is lost, and the active CA is from the future")}
		}
		return nil
	}
	if action := a.publish(out); action != nil {
		return []Action{*action}
	}
	return nil
}

// addLost adds the anchor that only the signer holds (lostAnchor) to a bundle that has others: beside every leaf
// first, as publish does. It removes nothing.
func (a *decision) addLost() []Action {
	lost := a.lostAnchor()
	if lost == nil {
		return nil
	}
	var out []Action
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; a.lacksAnchor(l, lost) {
			out = append(out, *updateAnchorsAction(l, a.d.Bundle.with(l.Anchors, lost), "its ca.crt lacks "+lost.Subject))
		}
	}
	if len(out) > 0 {
		return out
	}
	return []Action{*a.bundleAction(PublishAnchors, a.d.Bundle.with(a.d.Bundle.Anchors, lost), "it lacks "+lost.Subject)}
}

// lostAnchor returns the CA whose anchor only the signer holds while leaves of it may be presented, nil if there is
// none.
func (a *decision) lostAnchor() *pki.Certificate {
	s := &a.d.Signer
	switch active := s.Active; {
	case active == nil:
	case !a.tooEarly(active):
		if !a.anchored(active) && (a.liveUnder(active) > 0 || a.restorable()) {
			return a.d.AnchorOf(active)
		}
	case len(a.d.Bundle.Anchors) == 0:
		inUse := func(ca *pki.Certificate) bool { return !a.tooEarly(ca) && !a.ended(ca) }
		if i := slices.IndexFunc(s.Previous, inUse); i >= 0 {
			return a.d.AnchorOf(s.Previous[i])
		}
	}
	return nil
}

func (a *decision) signerAction(kind ActionKind, reason string) *Action {
	s := &a.d.Signer
	return &Action{
		Kind: kind, ObjectKind: SecretKind, Object: s.Name, ResourceVersion: s.ResourceVersion,
		Profile: s.Policy.Profile, Reason: reason, From: a.delivered(kind),
	}
}

func (a *decision) bundleAction(kind ActionKind, anchors []*pki.Certificate, reason string) *Action {
	b := &a.d.Bundle
	m := MetadataOfBundle(a.d.Name, a.own(anchors), a.published, a.d.Recorded(a.now))
	return a.withStores(&Action{
		Kind: kind, ObjectKind: ConfigMapKind, Object: b.Name, ResourceVersion: b.ResourceVersion,
		Anchors: anchors, Annotations: m.Annotations, Labels: m.Labels, Reason: reason,
	})
}

// withStores completes a write of the bundle: its trust stores get the anchors of that write.
func (a *decision) withStores(action *Action) *Action {
	b := &a.d.Bundle
	action.Stores = b.Stores
	if len(b.Stores) > 0 {
		action.Annotations[AnnotationTrustStores] = formatTrustStores(b.Stores)
	} else if _, had := b.Annotations[AnnotationTrustStores]; had {
		action.RemoveAnnotations = append(action.RemoveAnnotations, AnnotationTrustStores)
	}
	return action
}

// digest is that of the trust store of a bundle.
func (s *TrustStore) digest(b *Bundle) string {
	if s.Format == truststore.PEM {
		return truststore.DigestOf(pki.EncodeBeside(b.Unread, b.Anchors...))
	}
	return truststore.Digest(s.Format, s.Password, b.Anchors)
}

// mendStores writes trust stores that do not match the anchors of the bundle, and removes unwanted ones. A client of
// an unmaintained file would refuse the next CA.
func (a *decision) mendStores(*Assessment) *Action {
	b := &a.d.Bundle
	if !b.Present || len(b.Anchors) == 0 {
		return nil
	}
	reason := ""
	for _, store := range b.Stores {
		if b.StoreDigests[store.Key] != store.digest(b) {
			reason = store.Key + " does not have the anchors of the bundle"
		}
	}
	if reason == "" && b.Annotations[AnnotationTrustStores] != formatTrustStores(b.Stores) {
		reason = "its trust stores are not those of the configuration"
	}
	if reason == "" {
		return nil
	}
	return a.bundleAction(WriteTrustStores, b.Anchors, reason)
}

// own returns the anchors that this signer made.
func (a *decision) own(anchors []*pki.Certificate) []*pki.Certificate {
	return slices.DeleteFunc(slices.Clone(anchors), func(ca *pki.Certificate) bool { return a.slot(ca) == SlotForeign })
}

// generateFirst makes the first CA of a domain, or replaces a CA that is lost or expired. The replaced CA becomes
// previous, as in every rotation.
func (a *choice) generateFirst(*Assessment) *Action {
	s := &a.d.Signer
	switch {
	case a.usable(s.Next) || a.usable(s.Active):
		return nil
	case a.isIntermediate() && s.Next == nil:
		return a.requestAuthority(a.wanted())
	case a.isIntermediate():
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
		if s.Issued != nil && !a.takeable() {
			return nil
		}
		return a.withKey(first)
	case s.Issued != nil && !a.takeable():
		return nil
	case s.Active == nil:
		return a.withKey(a.signerAction(GenerateNext, "it does not exist, and leaves that may be live depend on a CA whose key is lost"))
	case s.Next == nil:
		// No stage can end with an expired CA.
		return a.withKey(a.signerAction(GenerateNext, a.wanted()+", and leaves that may be live depend on another CA"))
	}
	return nil
}

// dropExpired drops a next CA that has expired, so that a rotation that was held up too long can start again. The
// dropped CA becomes previous: its key is destroyed once its anchor has left the bundle.
func (a *decision) dropExpired(*Assessment) *Action {
	s := &a.d.Signer
	if s.Next == nil || s.Active == nil || a.usable(s.Next) {
		return nil
	}
	action := a.signerAction(DropNext, "the new CA expired before every member had loaded it")
	return action
}

// publish adds missing anchors to the bundle once they are beside every leaf. A member that shows evidence of the
// bundle has then also started with those anchors. A lost bundle is rebuilt first, with what is in use.
func (a *decision) publish(*Assessment) *Action {
	missing := a.unpublished()
	unspread := func(ca *pki.Certificate) bool { return len(a.withoutAnchor(ca)) > 0 }
	if len(a.d.Bundle.Anchors) == 0 {
		next := a.d.Signer.Next
		missing = slices.DeleteFunc(missing, func(ca *pki.Certificate) bool { return a.isOnlyNexts(ca) && a.liveUnder(next) == 0 && unspread(ca) })
	} else if slices.ContainsFunc(missing, unspread) {
		return nil
	}
	switch {
	case len(missing) > 0:
	case a.d.Bundle.Repeats:
		return a.bundleAction(PublishAnchors, a.d.Bundle.Anchors, repeatsAnchor)
	default:
		return nil
	}
	return a.bundleAction(PublishAnchors, a.d.Bundle.with(a.d.Bundle.Anchors, missing...), "it lacks "+subjectsOf(missing))
}

// abort drops next while nothing depends on it.
func (a *decision) abort(*Assessment) *Action {
	s := &a.d.Signer
	if !a.dropsNext() {
		return nil
	}
	reason := "an abort was requested and no leaf is signed by the new CA"
	switch {
	case a.madeAhead():
		reason = "the new CA was made by a clock that was ahead, and no leaf is signed by it"
	case a.replacedByIssuer():
		reason = a.d.Issuer + " has replaced the new CA, and no leaf of it was taken"
	}
	action := a.signerAction(DropNext, reason)
	if !a.replacedByIssuer() {
		// The active CA must sign again, so an abort withdraws the declaration of its compromise.
		action.RemoveAnnotations = []string{AnnotationCompromised}
	}
	action.Annotations = a.answers(&s.Object, a.abortRequest())
	return action
}

// promote makes next active once every member trusts it, or where no leaf could be cut off.
func (a *decision) promote(*Assessment) *Action {
	s := &a.d.Signer
	if s.Next == nil || !s.Next.ValidAt(a.now) || len(a.misfitsOf(s.Next)) > 0 {
		return nil
	}
	reason := "every relying party has loaded " + s.Next.Subject
	if len(a.waitsForAll(s.Next)) > 0 {
		// What an issuer has made waits. What is made here is missing until it is signed.
		if a.d.Issuer != "" || a.restorable() || a.anyLive() {
			return nil
		}
		reason = "no leaf is live, so no peer can be cut off by " + s.Next.Subject
	}
	action := a.signerAction(Promote, reason)
	action.Authority = s.Next.Fingerprint
	m := MetadataOfSigner(a.d.Name, s.Next, s.Policy)
	m.Annotations[AnnotationPromotedAt] = stamp(a.d.Recorded(a.now))
	action.Annotations, action.Labels = m.Annotations, m.Labels
	action.Irreversible = true
	return action
}

// wanted says why the signer itself must be replaced, "" if it need not be.
func (a *decision) wanted() string {
	s, twin := &a.d.Signer, a.renewedWithItsKey()
	switch {
	case s.Active == nil:
		return ""
	case s.Issued != nil:
		return a.issuedAnew()
	case a.rotationRequested(&s.Object):
		return "its rotation was requested" + a.requestText(&s.Object)
	case s.Active.Expired(a.now):
		return fmt.Sprintf("it expired at %s", s.Active.NotAfter.UTC().Format(time.RFC3339))
	case a.compromised(s.Active):
		return "its key is compromised"
	case !a.due(&s.Object, s.Active, s.Policy).After(a.now):
		return dueSince(a.due(&s.Object, s.Active, s.Policy))
	case twin != nil:
		return fmt.Sprintf("it was renewed with its key, so no probe can show that a server has loaded it, and all leaves end with the former one at %s",
			twin.NotAfter.UTC().Format(time.RFC3339))
	case s.Policy.Profile.Key != "" && s.Active.KeyAlgorithm != s.Policy.Profile.Key:
		return keyDifference(s.Active, s.Policy.Profile)
	}
	return ""
}

// generateNext starts a rotation that is wanted, if none is in flight (OneRotation).
func (a *choice) generateNext(out *Assessment) *Action {
	s := &a.d.Signer
	reason := a.wanted()
	if reason == "" || a.nextWaits(out) || slices.ContainsFunc(out.Problems, Problem.blocks) {
		return nil
	}
	if a.isIntermediate() {
		return a.requestAuthority(reason)
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
func (a *decision) retire(out *Assessment) *Action {
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
func (a *decision) destroyPrevious(out *Assessment) *Action {
	if out.Stage != Retiring || len(a.d.Signer.Previous) == 0 || len(a.former) > 0 {
		return nil
	}
	action := a.signerAction(DestroyPrevious, "its anchors have left the bundle")
	action.RemoveAnnotations = []string{AnnotationCompromised}
	action.Irreversible = true
	return action
}
