// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// verdict is the answer to "is there evidence?". reason, message and until are set only if there is none.
type verdict struct {
	proven  bool
	reason  Reason
	message string
	// until is when time alone changes the verdict, zero if never.
	until time.Time
}

var proven = verdict{proven: true}

// trusts says whether there is evidence that a member has loaded the anchor of ca.
func (a *assessor) trusts(p *Party, m *Member, ca *pki.Certificate) verdict {
	switch p.Kind {
	case GracePeriod:
		return a.trustsByGrace(p, ca)
	case Renewed:
		return a.trustsByRenewal(m, ca)
	case TLSProbe, Acknowledgement, StaticPodRevision, WorkloadRollout:
		return a.trustsByObservation(p, m, ca)
	}
	return verdict{reason: ReasonNotObserved, message: fmt.Sprintf("has the unknown evidence kind %q", p.Kind)}
}

func (a *assessor) trustsByGrace(p *Party, ca *pki.Certificate) verdict {
	published, ok := a.published[ca.Fingerprint]
	if !ok || !a.inBundle[ca.Fingerprint] {
		return verdict{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf("waits for the publication of %s", ca.Subject)}
	}
	// Whatever is recorded, nothing was published before it was made.
	if made := ca.NotBefore.Add(a.d.Signer.Policy.Profile.Backdate); made.After(published) {
		published = made
	}
	if until := published.Add(p.Grace); until.After(a.now) {
		return verdict{
			reason: ReasonGracePeriod, until: until,
			message: fmt.Sprintf("is in its grace period for %s until %s", ca.Subject, until.UTC().Format(time.RFC3339)),
		}
	}
	return proven
}

func (a *assessor) trustsByRenewal(m *Member, ca *pki.Certificate) verdict {
	for _, name := range m.Holds {
		l := a.leaves[name]
		if l == nil || l.Certificate == nil || !l.Certificate.SignedBy(ca) {
			return verdict{
				reason:  ReasonAnchorNotLoaded,
				message: fmt.Sprintf("still holds Secret/%s, which is not signed by %s", name, ca.Subject),
			}
		}
	}
	if len(m.Holds) == 0 {
		return verdict{reason: ReasonNotObserved, message: "holds no leaf whose renewal could be evidence"}
	}
	return proven
}

func (a *assessor) trustsByObservation(p *Party, m *Member, ca *pki.Certificate) verdict {
	o, missing := currentObservation(p, m)
	if o == nil {
		return missing
	}
	if slices.Contains(o.Trusts, ca.Fingerprint) {
		return proven
	}
	if slices.Contains(o.TrustedSubjects, ca.SubjectHash) {
		if other := a.ambiguous(ca); other != nil {
			return verdict{
				reason:  ReasonAnchorNotLoaded,
				message: fmt.Sprintf("accepts the subject %s, which two CAs share: that proves neither of them", ca.Subject),
			}
		}
		return proven
	}
	return verdict{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf("has not loaded %s: %s", ca.Subject, nextStep(p))}
}

// nextStep is what a person can do about a member that lags.
func nextStep(p *Party) string {
	switch p.Kind {
	case Acknowledgement:
		return "make it reload its trust bundle and acknowledge"
	case StaticPodRevision, WorkloadRollout:
		return "its rollout has not brought the bundle there yet"
	case TLSProbe, GracePeriod, Renewed:
	}
	return "make it reload its trust bundle, or restart it"
}

// nextDeliveryStep is what a person can do about a member that presents an older leaf.
func nextDeliveryStep(p *Party) string {
	switch p.Kind {
	case StaticPodRevision, WorkloadRollout:
		return "its rollout has not brought the leaf there yet"
	case Acknowledgement:
		return "make it reload its leaf and acknowledge"
	case TLSProbe, GracePeriod, Renewed:
	}
	return "make it reload its leaf"
}

// ambiguous returns another CA with the subject of ca and a different key, if one is known.
func (a *assessor) ambiguous(ca *pki.Certificate) *pki.Certificate {
	for _, other := range a.authorities {
		if other.SubjectHash == ca.SubjectHash && other.PublicKeyHash != ca.PublicKeyHash {
			return other
		}
	}
	return nil
}

// currentObservation returns what is known of the process that runs now, or why nothing is.
func currentObservation(p *Party, m *Member) (*Observation, verdict) {
	o := m.Observation
	switch {
	case o == nil && p.Kind == Acknowledgement:
		return nil, verdict{reason: ReasonNotObserved, message: "has never acknowledged what it has loaded"}
	case o == nil:
		return nil, verdict{reason: ReasonNotObserved, message: "has not been observed yet"}
	case o.ObservedAt.Before(m.RestartedAt):
		return nil, verdict{reason: ReasonNotObserved, message: "was restarted after it was last observed"}
	case o.Failure != "":
		return nil, verdict{reason: ReasonNotObserved, message: "cannot be observed: " + o.Failure}
	}
	return o, verdict{}
}

// delivers says whether there is evidence that a member presents the current content of the leaf that it holds, and
// nothing older, as presentsOlder has found.
func (a *assessor) delivers(p *Party, m *Member, l *Leaf, older bool) verdict {
	if l.Certificate == nil {
		return verdict{reason: ReasonLeafNotPresented, message: fmt.Sprintf("holds Secret/%s, which does not exist or cannot be read", l.Name)}
	}
	switch p.Kind {
	case Renewed:
		return proven
	case GracePeriod:
		if until := l.issuedAt().Add(p.Grace); until.After(a.now) {
			return verdict{
				reason: ReasonGracePeriod, until: until,
				message: fmt.Sprintf("is in its grace period for Secret/%s until %s", l.Name, until.UTC().Format(time.RFC3339)),
			}
		}
		return proven
	case TLSProbe, Acknowledgement, StaticPodRevision, WorkloadRollout:
	}
	o, missing := currentObservation(p, m)
	if o == nil {
		return missing
	}
	if !slices.Contains(o.Presents, l.Certificate.Fingerprint) || older {
		return verdict{
			reason:  ReasonLeafNotPresented,
			message: fmt.Sprintf("does not present the current Secret/%s yet: %s", l.Name, nextDeliveryStep(p)),
		}
	}
	return proven
}

// presentsOlder says whether a member presents something that is not the current content of a leaf that it holds.
func (a *assessor) presentsOlder(m *Member) bool {
	if m.Observation == nil {
		return false
	}
	current := make(map[pki.Fingerprint]bool, len(m.Holds))
	for _, name := range m.Holds {
		if l := a.leaves[name]; l != nil && l.Certificate != nil {
			current[l.Certificate.Fingerprint] = true
		}
	}
	return slices.ContainsFunc(m.Observation.Presents, func(f pki.Fingerprint) bool { return !current[f] })
}

// issuedAt is when a leaf was issued: never earlier than it really was, because a grace period is a lower bound.
func (l *Leaf) issuedAt() time.Time {
	start := l.Certificate.NotBefore.Add(l.Policy.Profile.Backdate)
	if t, err := time.Parse(time.RFC3339, l.Annotations[AnnotationIssuedAt]); err == nil && t.After(start) {
		return t
	}
	return start
}

// waitsForTrust lists the members of the parties that do not show evidence of ca.
func (a *assessor) waitsForTrust(parties []*Party, ca *pki.Certificate) []Blocker {
	var blockers []Blocker
	for _, p := range parties {
		blockers = append(blockers, a.untrusting(p, ca)...)
	}
	return blockers
}

// untrusting lists the members of one party that do not show evidence of ca.
func (a *assessor) untrusting(p *Party, ca *pki.Certificate) []Blocker {
	key := trustKey{p, ca.Fingerprint}
	if blockers, known := a.trust[key]; known {
		return blockers
	}
	var blockers []Blocker
	for i := range p.Members {
		m := &p.Members[i]
		if v := a.trusts(p, m, ca); !v.proven {
			a.recheckAt(v.until)
			blockers = append(blockers, Blocker{Party: p.Name, Member: m.Name, Reason: v.reason, Message: v.message})
		}
	}
	a.trust[key] = blockers
	return blockers
}

// waitsForDelivery lists the members that do not show evidence of presenting all their current leaves.
func (a *assessor) waitsForDelivery() []Blocker {
	var blockers []Blocker
	for _, p := range a.parties {
		for i := range p.Members {
			m := &p.Members[i]
			if v := a.deliversAll(p, m); !v.proven {
				a.recheckAt(v.until)
				blockers = append(blockers, Blocker{Party: p.Name, Member: m.Name, Reason: v.reason, Message: v.message})
			}
		}
	}
	return blockers
}

func (a *assessor) deliversAll(p *Party, m *Member) verdict {
	older := a.presentsOlder(m)
	for _, name := range m.Holds {
		l := a.leaves[name]
		if l == nil {
			continue
		}
		if v := a.delivers(p, m, l, older); !v.proven {
			return v
		}
	}
	return proven
}
