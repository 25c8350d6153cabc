// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// trustsByObservation requires evidence of all live processes of a member: one that has not loaded the anchor refuses
// what the others accept, no matter which was observed last.
func (a *proofs) trustsByObservation(p *Party, m *Member, ca *pki.Certificate) proof {
	seen, missing := a.observed(p, m)
	if len(seen) == 0 {
		missing.message += a.withoutLeaf(p, m)
		return missing
	}
	for _, o := range seen {
		if v := a.loaded(p, o, ca); !v.proven {
			v.message += a.withoutLeaf(p, m)
			return v.by(o, seen)
		}
	}
	return proven
}

// withoutLeaf says what a person can do for a member that can load nothing new because it needs a leaf that is lost, and
// that is issued only after its verifiers have loaded a CA: two such members wait for each other. It is "" otherwise.
func (a *proofs) withoutLeaf(p *Party, m *Member) string {
	at := slices.IndexFunc(m.Holds, func(name string) bool { return a.leaves[name] == nil || !a.leaves[name].Present })
	if at < 0 || !p.Kind.traits().whole || a.bringsBackAny() {
		return ""
	}
	out := fmt.Sprintf("; nothing new reaches it without Secret/%s, which is lost and issued when its own verifiers have loaded the CA: "+
		"if they wait for each other, restore that Secret from a backup", m.Holds[at])
	if m.Pod != nil {
		return out + ", or delete the pod: the next one waits for the Secret, and counts when it starts"
	}
	return out + ", or from the disk of its node"
}

// loaded returns whether an observation proves that a process has loaded the anchor of ca. A list of subjects proves
// an anchor only if no other known CA has its subject. Of two with the same key, it proves the one that ends first.
func (a *proofs) loaded(p *Party, o *Observation, ca *pki.Certificate) proof {
	if slices.Contains(o.Trusts, ca.Fingerprint) {
		switch other := ambiguous(ca, a.authorities, a.now); {
		case p.Kind.OfTargets():
			return a.settled(p, o, ca)
		case p.Kind.ByHandshake() && other != nil && interchangeable(other, ca):
			return proof{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf(
				"accepts a leaf of %s, and would with a CA of the same key that ends earlier, too: that proves only the other one", ca.Subject)}
		}
		return proven
	}
	if slices.Contains(o.TrustedSubjects, ca.SubjectHash) {
		other := ambiguous(ca, a.authorities, a.now)
		if other == nil {
			return proven
		}
		text := "accepts the subject %s, which two CAs share: that proves neither of them"
		if interchangeable(other, ca) {
			text = "accepts the subject %s, which a CA of the same key that ends earlier has too: that proves only the other one"
		}
		return proof{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf(text, ca.Subject)}
	}
	return proof{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf("has not loaded %s: %s", ca.Subject, p.Kind.traits().behind)}
}

// settled returns whether what a target holds is in use. Nothing shows when each kube-apiserver starts to verify by
// it. So it waits for the grace, which is the operator's assumption.
func (a *proofs) settled(p *Party, o *Observation, ca *pki.Certificate) proof {
	if o.StartedAt.IsZero() {
		return proof{reason: ReasonNotObserved, message: "is not known to hold its anchors since any time: it is looked at again"}
	}
	return a.waitsFor(p, o.StartedAt, "holds "+ca.Subject+", and every kube-apiserver is assumed to verify by it from ", " on")
}

// ambiguous returns another known CA that a list of subjects could mean instead of ca. It has another key or another
// identifier, or the same key and an earlier end. Expired CAs do not count.
func ambiguous(ca *pki.Certificate, known []*pki.Certificate, now time.Time) *pki.Certificate {
	for _, other := range known {
		if other.SubjectHash != ca.SubjectHash || other.Fingerprint == ca.Fingerprint || other.Expired(now) {
			continue
		}
		if !interchangeable(other, ca) || other.NotAfter.Before(ca.NotAfter) {
			return other
		}
	}
	return nil
}

// Listed returns the known CAs that a server proves to have loaded by its list of subjects (pki.SubjectHash) in a
// handshake. A subject that could mean another known CA proves only what it proves to an assessment.
func Listed(subjects []string, known []*pki.Certificate, now time.Time) []*pki.Certificate {
	var out []*pki.Certificate
	for _, ca := range known {
		if slices.Contains(subjects, ca.SubjectHash) && ambiguous(ca, known, now) == nil {
			out = append(out, ca)
		}
	}
	return out
}

// denies reports whether a live process of a member was observed to trust other CAs and not this one. Missing
// observations and empty lists do not count. A handshake proves only the CAs that were tried.
func (a *proofs) denies(p *Party, m *Member, ca *pki.Certificate) bool {
	return a.waiver(p, m) == nil && a.seenWithout(p, m, ca)
}

// seenWithout reports whether a live process of a member was observed to trust CAs, and not this one.
func (a *proofs) seenWithout(p *Party, m *Member, ca *pki.Certificate) bool {
	return slices.ContainsFunc(a.observations[m], func(o *Observation) bool { return a.without(p, o, ca) })
}

// without reports whether an observation shows a process that trusts CAs, and not this one.
func (a *proofs) without(p *Party, o *Observation, ca *pki.Certificate) bool {
	lists := len(o.TrustedSubjects) > 0 || (!p.Kind.ByHandshake() && len(o.Trusts) > 0)
	return p.Kind.observed() && o.Failure == "" && lists && !slices.ContainsFunc(a.anchorsFor(ca), func(anchor *pki.Certificate) bool {
		return slices.Contains(o.Trusts, anchor.Fingerprint) || slices.Contains(o.TrustedSubjects, anchor.SubjectHash) || a.trustsTwin(o, anchor)
	})
}

// trustsTwin reports whether a process has loaded a CA that verifiers cannot tell from ca, expired or not. Such a
// process lags and has not diverged.
func (a *proofs) trustsTwin(o *Observation, ca *pki.Certificate) bool {
	return slices.ContainsFunc(a.authorities, func(twin *pki.Certificate) bool {
		return interchangeable(ca, twin) && slices.Contains(o.Trusts, twin.Fingerprint)
	})
}

// observed returns the current observations of all live processes of a member, or why one is lacking.
func (a *proofs) observed(p *Party, m *Member) ([]*Observation, proof) {
	seen := a.observations[m]
	if p.unwatched {
		// Its lease may last, but a replacement of the process would go unnoticed.
		return nil, proof{reason: ReasonNotObserved, message: fmt.Sprintf("is not looked at any more: the configuration does not ask for %s of it", p.Kind)}
	}
	if o := a.ofTheFuture(p, m); o != nil {
		return nil, proof{reason: ReasonNotObserved, message: fmt.Sprintf(
			"is known from a time that is still to come, as by a clock that was ahead: what its process %s has loaded is unknown until it is observed again", o.Instance)}
	}
	for i := range m.Probes {
		address := m.Probes[i].Address
		if !slices.ContainsFunc(seen, func(o *Observation) bool { return o.Address == address }) {
			return nil, a.unobserved(p, m)
		}
	}
	if len(seen) == 0 {
		return nil, a.unobserved(p, m)
	}
	for _, o := range seen {
		if o.Failure != "" {
			return nil, proof{reason: ReasonNotObserved, message: "cannot be observed: " + o.Failure}.by(o, seen)
		}
	}
	return seen, proof{}
}

// unobserved says why there is no current observation.
func (a *proofs) unobserved(p *Party, m *Member) proof {
	if m.Pod != nil && m.Pod.Process == "" && !p.Kind.traits().reported {
		return proof{reason: ReasonNotObserved, message: "runs no container at the moment"}
	}
	message := p.Kind.traits().never
	lapsed, other := time.Time{}, EvidenceKind("")
	for i := range m.Observations {
		switch o := &m.Observations[i]; {
		case o.Kind != p.Kind:
			other = o.Kind
		case !m.Runs(o):
			return proof{reason: ReasonNotObserved, message: "was restarted after it was last observed"}
		case !o.Expires.After(a.now) && o.Expires.After(lapsed):
			lapsed = o.Expires
		}
	}
	switch {
	case !lapsed.IsZero():
		message = fmt.Sprintf(p.Kind.traits().lapsed, lapsed.UTC().Format(time.RFC3339))
	case other != "":
		message = fmt.Sprintf("has no evidence of the kind %s: what is known was seen by %s", p.Kind, other)
	}
	if len(m.Observations) == 0 && m.Pod == nil && !p.recorded {
		message += "; if it was named by mistake, end its wait with `kubectl certrotation waive`, and take it out of the configuration"
	}
	return proof{reason: ReasonNotObserved, message: message, lapsed: !lapsed.IsZero()}
}
