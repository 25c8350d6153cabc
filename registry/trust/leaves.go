// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

func (a *assessor) assessLeaves() (out []LeafAssessment, due []Action) {
	out = make([]LeafAssessment, 0, len(a.d.Leaves))
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		la := LeafAssessment{Name: l.Name, SignedBy: a.signers[l.Name]}
		la.Trusted, la.Verifiers = a.countTrust(a.verifiers[l.Name], la.SignedBy)
		if la.SignedBy != nil {
			la.SignedBySlot = a.slot(la.SignedBy)
		}
		if l.Certificate != nil {
			la.Due = a.due(&l.Object, l.Certificate, l.Policy)
			la.Usable = l.Problem == nil && l.Certificate.ValidAt(a.now) &&
				la.SignedBy != nil && a.inBundle[la.SignedBy.Fingerprint]
		}
		la.Unnamed = l.Unnamed
		issue, waiting := a.issue(l)
		if issue != nil {
			due = append(due, *issue)
		}
		la.Waiting = waiting
		out = append(out, la)
	}
	return out, due
}

// issue returns the action that issues a leaf if it should and may be issued now. Otherwise it returns the blockers,
// or neither.
func (a *assessor) issue(l *Leaf) (*Action, []Blocker) {
	switch {
	case l.Problem != nil:
		return nil, nil
	case l.Unnamed:
		return nil, a.unnamed(l)
	case unwritable("", &l.Object) != nil:
		return nil, nil
	}
	best, against := a.bestSigner(l.Name)
	reason := a.wants(l, best)
	current, subject := a.signers[l.Name], "an unknown CA"
	if current != nil {
		subject = current.Subject
	}
	switch {
	case best == nil && reason != "":
		return nil, append(against, Blocker{
			Object: secret(l.Name), Reason: ReasonNoUsableSigner,
			Message: reason + ", and no CA may sign it now",
		})
	case best == nil:
		return nil, a.waitsToLeave(current, against)
	case reason == "" && a.olderThan(current, best):
		reason = fmt.Sprintf("it is signed by %s, which is being replaced", subject)
	case reason == "":
		return nil, a.waitsToLeave(current, against)
	}
	missing := l.Certificate == nil || l.Certificate.Expired(a.now) || a.early(l.Certificate)
	if a.compromised(best) && !missing {
		return nil, a.waitsToLeave(current, against)
	}
	profile := l.Policy.Profile
	if !same(best, a.newest()) && !a.compromised(best) {
		profile.Validity = min(profile.Validity, replacedLeafLife)
	}
	if left := a.acceptedUntil(best, l.Name).Sub(a.now); left < profile.Validity {
		profile.Validity = left
	}
	issue := &Action{
		Urgent: missing || a.rotationRequested(&l.Object), Annotations: a.answers(&l.Object, a.rotateRequest(&l.Object)),
		Kind: IssueLeaf, ObjectKind: SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion,
		Profile: profile, Authority: best.Fingerprint, Anchors: a.anchorsBeside(l), Reason: reason,
		// A leaf that is signed because of evidence cuts verifiers off if the evidence is stale.
		Irreversible: !same(current, best) && (!missing || !a.established(best)),
	}
	return issue, nil
}

// unnamed returns the blocker of a leaf that the configuration does not name: it is live, and it is not reissued.
func (a *assessor) unnamed(l *Leaf) []Blocker {
	if !a.live(l) || same(a.signers[l.Name], a.newest()) {
		return nil
	}
	return []Blocker{{
		Object: secret(l.Name), Reason: ReasonUnnamed,
		Message: "is a live leaf of this trust domain that the configuration does not name, so it is not reissued: " +
			"name it again, or delete it when nobody presents it any more",
	}}
}

// replacedLeafLife is the longest life of a leaf of a CA that is being replaced. So the CA is not needed for much
// longer than its replacement takes. The leaf is renewed in time if the rotation is held up. A compromised CA renews
// nothing, so leaves that it restores get their full life.
const replacedLeafLife = 7 * 24 * time.Hour

// waitsToLeave returns the blockers against the newest CA, none if it has signed the leaf already.
func (a *assessor) waitsToLeave(current *pki.Certificate, against []Blocker) []Blocker {
	if newest := a.newest(); newest == nil || same(current, newest) {
		return nil
	}
	return against
}

// wants says why a leaf needs a new certificate, no matter from which CA, "" if it does not. A leaf that ends with
// its signer gains no time from a renewal: it would be due again at once, over and over.
func (a *assessor) wants(l *Leaf, best *pki.Certificate) string {
	c := l.Certificate
	switch {
	case !l.Present || c == nil:
		return "it does not exist"
	case c.Expired(a.now):
		return fmt.Sprintf("it expired at %s", c.NotAfter.UTC().Format(time.RFC3339))
	case a.early(c):
		return fmt.Sprintf("it is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	case a.rotationRequested(&l.Object):
		return "its rotation was requested" + a.requestText(&l.Object)
	case !a.due(&l.Object, c, l.Policy).After(a.now) && (best == nil || best.NotAfter.After(c.NotAfter)):
		return dueSince(a.due(&l.Object, c, l.Policy))
	}
	if ca := a.signers[l.Name]; ca != nil && !c.Identifies(ca) {
		return fmt.Sprintf("it identifies another certificate of its issuer than %s has now, by which some verifiers do not find it", ca.Subject)
	}
	if newest := a.newest(); newest != nil && c.SignedBy(newest) && a.olderThanTwin(l, newest) && a.provesByRenewal(l) {
		return fmt.Sprintf("its renewal is to show that its holder has loaded %s, which was renewed with its key", newest.Subject)
	}
	return policyDifference(c, l.Policy.Profile)
}

// provesByRenewal reports whether the renewal of a leaf is the evidence of a member.
func (a *assessor) provesByRenewal(l *Leaf) bool {
	return slices.ContainsFunc(a.parties, func(p *Party) bool { return p.Kind == Renewed && p.holds(l.Name) })
}

// early reports whether a certificate is not valid yet by any of the known clocks.
func (a *assessor) early(c *pki.Certificate) bool { return c.NotBefore.After(a.d.Recorded(a.now)) }

// hostDifference compares the subject alternative names of a certificate with those that it should have. An IP
// address that is repeated as a DNS name, as library-go writes it, is no difference.
func hostDifference(c *pki.Certificate, want pki.Profile) (extra, missing []string) {
	has := hosts(c.DNSNames, c.IPAddresses)
	should := hosts(want.DNSNames, want.IPAddresses)
	for _, h := range has {
		if !slices.Contains(should, h) {
			extra = append(extra, h)
		}
	}
	for _, h := range should {
		if !slices.Contains(has, h) {
			missing = append(missing, h)
		}
	}
	return extra, missing
}

func hosts(names, addresses []string) []string {
	all := slices.Concat(names, addresses)
	slices.Sort(all)
	return slices.Compact(all)
}

// refresh returns the latest time to renew a certificate: at RenewAtPercent of its validity, or RenewBefore its end.
// If the backdate already exceeds the percentage, it counts from when the certificate was made. If the signer
// shortened the life of the certificate, RenewBefore shrinks in proportion. A certificate is never due when it is
// made, or it would be made over and over.
func refresh(c *pki.Certificate, p Policy) time.Time {
	life, made := c.NotAfter.Sub(c.NotBefore), c.NotBefore.Add(p.Profile.Backdate)
	at := c.NotBefore.Add(life / 100 * time.Duration(p.RenewAtPercent))
	if !at.After(made) {
		at = made.Add(c.NotAfter.Sub(made) / 100 * time.Duration(p.RenewAtPercent))
	}
	renewBefore := p.RenewBefore
	if full := p.Profile.Validity + p.Profile.Backdate; life < full {
		renewBefore = time.Duration(float64(renewBefore) * float64(life) / float64(full))
	}
	if before := c.NotAfter.Add(-renewBefore); renewBefore > 0 && before.After(made) && before.Before(at) {
		return before
	}
	return at
}

// signerDue returns when the active CA must be renewed, zero if there is none.
func (a *assessor) signerDue() time.Time {
	s := &a.d.Signer
	if s.Active == nil {
		return time.Time{}
	}
	return a.due(&s.Object, s.Active, s.Policy)
}

// due returns when to renew a certificate: earlier than refresh by the object's share of the jitter, so that
// certificates made together are not renewed together. The share depends only on the names of namespace and object.
// It takes at most half of the time until refresh: a certificate that is due when it is made is made over and over.
func (a *assessor) due(o *Object, c *pki.Certificate, p Policy) time.Time {
	if p.JitterPercent == 0 {
		return refresh(c, p)
	}
	h := fnv.New32a()
	// Writing to a hash never fails.
	_, _ = h.Write([]byte(a.d.Namespace + "/" + o.Name))
	const shares = 1000
	at := refresh(c, p)
	spread := c.NotAfter.Sub(c.NotBefore) / 100 * time.Duration(p.JitterPercent)
	spread = max(0, min(spread, at.Sub(c.NotBefore.Add(p.Profile.Backdate))/2))
	return at.Add(-spread / shares * time.Duration(h.Sum32()%shares))
}

// policyDifference says how a certificate differs from the profile of its successor, "" if it does not. Validity is
// ignored: it applies from the next certificate on.
func policyDifference(c *pki.Certificate, want pki.Profile) string {
	if extra, missing := hostDifference(c, want); len(extra)+len(missing) > 0 {
		return fmt.Sprintf("its names differ from the configuration (missing %q, not required %q)", missing, extra)
	}
	switch {
	case want.Key != "" && c.KeyAlgorithm != want.Key:
		return keyDifference(c, want)
	case c.CommonName != want.CommonName || !sameSet(c.Organizations, want.Organizations):
		return fmt.Sprintf("its subject %s differs from the configuration (common name %q, organizations %q)", c.Subject, want.CommonName, want.Organizations)
	case !sameSet(c.Usages, want.Usages):
		return fmt.Sprintf("its usages %q differ from the configuration %q", c.Usages, want.Usages)
	}
	return ""
}

func dueSince(at time.Time) string {
	return "it is due for renewal since " + at.UTC().Format(time.RFC3339)
}

func keyDifference(c *pki.Certificate, want pki.Profile) string {
	return fmt.Sprintf("its key is %s and the configuration says %s", c.KeyAlgorithm, want.Key)
}

func sameSet[T ~string](a, b []T) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

// paceWindow is the time in which Domain.ReissuePerMinute leaves may be reissued.
const paceWindow = time.Minute

// turn are the leaves to issue now. waiting is how many more wait, and next when one of them may be issued.
type turn struct {
	actions []Action
	waiting int
	next    time.Time
}

// pace holds back non-urgent leaves if many were reissued in the last minute, to spread a rotation of thousands of
// leaves. It never holds back leaves that are missing, expired or requested, nor any leaf while a key is compromised.
// A leaf whose issue time is further ahead than any clock may be says nothing about the last minute.
func (a *assessor) pace(due []Action) turn {
	budget := a.d.ReissuePerMinute
	if budget <= 0 || a.anyCompromised() {
		return turn{actions: due}
	}
	var next time.Time
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Certificate == nil || a.ahead(l.issuedAt()) {
			continue
		}
		if free := l.issuedAt().Add(paceWindow); free.After(a.now) {
			budget--
			if next.IsZero() || free.Before(next) {
				next = free
			}
		}
	}
	var out turn
	for _, issue := range due {
		if !issue.Urgent {
			if budget <= 0 {
				out.waiting, out.next = out.waiting+1, next
				continue
			}
			budget--
		}
		out.actions = append(out.actions, issue)
	}
	return out
}
