// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// MaxAcceptedCopies bounds the entries that are read of one Namespace. The API server bounds the text.
const MaxAcceptedCopies = 1000

// AcceptedCopy is one entry of the annotation CopiesFrom. The namespace with the entry accepts an object of that kind
// and name from the configurations of the namespace From. There are no wildcards.
type AcceptedCopy struct {
	From string
	Kind ObjectKind
	Name string
}

// String is the entry as it is written, FROM/KIND/NAME.
func (a AcceptedCopy) String() string { return a.From + "/" + string(a.Kind) + "/" + a.Name }

// RefusedEntry is an entry that accepts nothing.
type RefusedEntry struct{ Entry, Why string }

var (
	namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	objectNames   = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

// ParseCopiesFrom reads the annotation CopiesFrom. An invalid entry does not affect the others.
func ParseCopiesFrom(text string) ([]AcceptedCopy, []RefusedEntry) {
	var accepted []AcceptedCopy
	var refused []RefusedEntry
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if len(accepted)+len(refused) == MaxAcceptedCopies {
			return accepted, append(refused, RefusedEntry{shown(entry), fmt.Sprintf("comes after %d others", MaxAcceptedCopies)})
		}
		a, why := parseEntry(entry)
		if why != "" {
			refused = append(refused, RefusedEntry{shown(entry), why})
			continue
		}
		accepted = append(accepted, a)
	}
	return accepted, refused
}

func parseEntry(entry string) (AcceptedCopy, string) {
	parts := strings.Split(entry, "/")
	if len(parts) != 3 {
		return AcceptedCopy{}, "is not of the form NAMESPACE/Secret/NAME or NAMESPACE/ConfigMap/NAME"
	}
	a := AcceptedCopy{From: parts[0], Kind: ObjectKind(parts[1]), Name: parts[2]}
	switch {
	case !namespaceName.MatchString(a.From):
		return AcceptedCopy{}, "does not begin with the name of a namespace"
	case a.Kind != SecretKind && a.Kind != ConfigMapKind:
		return AcceptedCopy{}, "is of neither kind, Secret or ConfigMap"
	case !objectNames.MatchString(a.Name):
		return AcceptedCopy{}, "does not end with the name of an object"
	}
	return a, ""
}

// shown shortens an entry for a message.
func shown(entry string) string {
	const most = 80
	if len(entry) <= most {
		return entry
	}
	return strings.ToValidUTF8(entry[:most], "") + "..."
}

// CopyVerdict is whether a copy may exist where it is.
type CopyVerdict int

// Verdicts. A withdrawn copy is deleted, an undecided one stays as it is. Neither is written.
const (
	CopyUndecided CopyVerdict = iota
	CopyWithdrawn
	CopyAllowed
)

// CopyConsent is the consent that a copy into another namespace, or within one, rests on.
type CopyConsent struct {
	// Copy as the destination would accept it, and the Namespace that the copy is in.
	Copy        AcceptedCopy
	Destination string
	// Cluster is the name of the cluster with that Namespace, "" for this one.
	Cluster string
	// SourceManaged says that the Namespace of the source exists and has the label LabelManaged.
	SourceManaged bool
	// Asked says that a configuration of the source's namespace asks for the copy. Unreadable names configurations
	// that might.
	Asked      bool
	Unreadable []string
	// Accepted is the annotation CopiesFrom of the destination.
	Accepted string
}

// JudgeCopy returns whether the copy may exist, and if not, why and what to do. An unreadable configuration withdraws no
// copy. Anything else that is missing does, except the label of the copy's own namespace: nothing is written there.
func JudgeCopy(c *CopyConsent) (CopyVerdict, string) {
	same := c.Cluster == "" && c.Destination == c.Copy.From
	if !c.SourceManaged {
		if same {
			return CopyUndecided, fmt.Sprintf("namespace %s does not have the label %s=%s: nothing is written in it", c.Copy.From, LabelManaged, ManagedValue)
		}
		return CopyWithdrawn, fmt.Sprintf("namespace %s, where the source is, does not have the label %s=%s", c.Copy.From, LabelManaged, ManagedValue)
	}
	if !same {
		accepted, refused := ParseCopiesFrom(c.Accepted)
		if !slices.Contains(accepted, c.Copy) {
			return CopyWithdrawn, fmt.Sprintf("%s does not accept %s/%s from namespace %s%s; its owner agrees by adding %s to its annotation %s, which is separated by commas",
				PlaceOf(c.Cluster, c.Destination), c.Copy.Kind, c.Copy.Name, c.Copy.From, refusedOf(c.Copy.From, refused), c.Copy, CopiesFrom)
		}
	}
	switch {
	case c.Asked:
		return CopyAllowed, ""
	case len(c.Unreadable) > 0:
		return CopyUndecided, fmt.Sprintf("it is not known whether it is still asked for: %s cannot be read", strings.Join(c.Unreadable, ", "))
	}
	return CopyWithdrawn, "no configuration of namespace " + c.Copy.From + " asks for it"
}

// PlaceOf is a namespace for people, with its cluster unless that is this one.
func PlaceOf(cluster, namespace string) string {
	if cluster == "" {
		return "namespace " + namespace
	}
	return "namespace " + namespace + " of cluster " + cluster
}

// refusedOf names the entries about a namespace that accept nothing. It hides those about other namespaces.
func refusedOf(from string, refused []RefusedEntry) string {
	var texts []string
	for _, r := range refused {
		if r.Entry == from || strings.HasPrefix(r.Entry, from+"/") {
			texts = append(texts, fmt.Sprintf("%q %s", r.Entry, r.Why))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

// CopyAssessment is whether a copy of a bundle or a leaf may be updated. Readers of a copy take part in the
// protocol like readers of the source. So a change that the source must not have is not copied either.
type CopyAssessment struct {
	// Blockers say why the copy must stay as it is, empty if it may be written.
	Blockers []Blocker
	// Anchors that the copy of a bundle must hold, in order. Empty for a leaf, and if there are blockers.
	Anchors []*pki.Certificate
	// Kept are those of the Anchors that the bundle no longer holds, and what needs them.
	Kept []KeptAnchor
	// Signer is the CA of a leaf, nil for a bundle, and if there are blockers.
	Signer *pki.Certificate
	// Recheck is the next moment at which time alone changes the assessment, zero if never.
	Recheck time.Time
}

// KeptAnchor is an anchor that stays in a copy although its bundle lost it.
type KeptAnchor struct {
	Certificate *pki.Certificate
	NeededBy    []string
}

// AssessBundleCopy returns what a copy of the domain's bundle must hold; held are its anchors now. A copy gains every
// anchor of the bundle at once. It loses an anchor only if the bundle could lose it now (AnchorInUse). So a bundle
// that was cut down, or restored from a backup, removes nothing from copies. Without a bundle the copy stays as it is
// (NeverEmpty).
func AssessBundleCopy(d *Domain, held []*pki.Certificate, now time.Time) *CopyAssessment {
	object := d.Bundle.Ref()
	switch {
	case d.Bundle.Problem != nil:
		return waitingCopy(Blocker{Object: object, Reason: ReasonObjectProblem, Message: d.Bundle.Problem.Message})
	case !d.Bundle.Present || len(d.Bundle.Anchors) == 0:
		return waitingCopy(Blocker{Object: object, Reason: ReasonMissing, Message: "does not exist or is empty; the copy keeps what it has until it is rebuilt"})
	}
	whole := *d
	whole.Bundle.Anchors = slices.Clone(d.Bundle.Anchors)
	for _, ca := range held {
		if !slices.ContainsFunc(whole.Bundle.Anchors, ca.Equal) {
			whole.Bundle.Anchors = append(whole.Bundle.Anchors, ca)
		}
	}
	out := &CopyAssessment{Anchors: slices.Clone(d.Bundle.Anchors)}
	lost := whole.Bundle.Anchors[len(d.Bundle.Anchors):]
	if len(lost) == 0 {
		return out
	}
	a := decide(&whole, now)
	again := a.until
	for _, ca := range lost {
		if users := a.neededBy(ca); len(users) > 0 {
			out.Anchors = append(out.Anchors, ca)
			out.Kept = append(out.Kept, KeptAnchor{Certificate: ca, NeededBy: users})
			again.addEnd(ca)
		}
	}
	out.Recheck = again.next
	return out
}

// AssessLeafCopy reports whether the content of a leaf may be copied. What the controller issued always may. A leaf
// from elsewhere must first follow the same rules: all its verifiers have loaded its CA (TrustBeforeUse), and it is
// no CA and ends within its signer (LeafWithinSigner).
func AssessLeafCopy(d *Domain, name string, now time.Time) *CopyAssessment {
	a := decide(d, now)
	object, again := secret(name), a.until
	wait := func(reason Reason, message string) *CopyAssessment {
		out := waitingCopy(Blocker{Object: object, Reason: reason, Message: message})
		out.Recheck = again.next
		return out
	}
	l := a.leaves[name]
	switch {
	case l == nil || !l.Present:
		return wait(ReasonMissing, "does not exist; the copy keeps what it has until it is issued")
	case l.Problem != nil:
		return wait(l.Problem.Reason, l.Problem.Message)
	case !Consents(l.Annotations, d.Configuration):
		return wait(ReasonNotAdopted, "does not consent to be copied; name it as a leaf of the trust domain and adopt it")
	case l.Certificate == nil:
		return wait(ReasonUnparsable, "cannot be read; restore it, or delete the Secret to have it reissued")
	case l.Certificate.IsCA:
		return wait(ReasonUnknownSigner, fmt.Sprintf("%s is a certificate authority and no leaf; delete the Secret to have it reissued", l.Certificate.Subject))
	case !l.Certificate.ValidAt(now):
		again.add(l.Certificate.NotBefore)
		return wait(ReasonExpired, fmt.Sprintf("is valid from %s to %s only", l.Certificate.NotBefore.UTC().Format(time.RFC3339),
			l.Certificate.NotAfter.UTC().Format(time.RFC3339)))
	}
	ca := a.signers[name]
	if ca == nil {
		return wait(ReasonUnknownSigner, fmt.Sprintf("is signed by no CA that this trust domain knows (issuer %s)", l.Certificate.Issuer))
	}
	if d.Issuer == "" && l.Certificate.NotAfter.After(ca.NotAfter) {
		return wait(ReasonUnknownSigner, fmt.Sprintf("ends after its signer %s; delete the Secret to have it reissued", ca.Subject))
	}
	if a.updateAnchorsOf(l) != nil {
		return wait(ReasonAnchorNotLoaded, "has other anchors under ca.crt than it is to have; the copy keeps what it has until they are written")
	}
	_, blockers := a.maySign(ca, name)
	if len(blockers) > 0 {
		return &CopyAssessment{Blockers: blockers, Recheck: again.next}
	}
	return &CopyAssessment{Signer: ca, Recheck: again.next}
}

// BundleCopy is a copy of a bundle with the anchors that it is known to hold.
type BundleCopy struct {
	Object  string
	Anchors []*pki.Certificate
}

// FollowBundles makes the copy of a leaf wait for the copies of its bundle in the same cluster: its readers must have
// the CA before the first of them presents the leaf.
func (a *CopyAssessment) FollowBundles(bundles []BundleCopy) {
	if a.Signer == nil {
		return
	}
	for _, b := range bundles {
		if !slices.ContainsFunc(b.Anchors, a.Signer.Equal) {
			a.Blockers = append(a.Blockers, Blocker{Object: b.Object, Reason: ReasonAnchorNotLoaded,
				Message: fmt.Sprintf("is not known to hold %s, which signed the leaf", a.Signer.Subject)})
		}
	}
}

func waitingCopy(b Blocker) *CopyAssessment { return &CopyAssessment{Blockers: []Blocker{b}} }
