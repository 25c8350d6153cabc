// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"math"
	"slices"
	"strings"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// signer renders the signer with the whole state of its domain's rotation.
func (r *renderer) signer() *certrotation.CertificateRotation {
	s, a := &r.domain.Signer, r.assessment
	out := &certrotation.CertificateRotation{
		ObjectMeta: r.metadata(&s.Object, ResourceCertificates, LabelRoleSigner),
		Spec: certrotation.CertificateRotationSpec{
			Role:        certrotation.RoleSigner,
			TrustDomain: r.domain.Name,
			Signer:      s.Name,
			Bundle:      r.domain.Bundle.Name,
		},
		Status: certrotation.CertificateRotationStatus{
			Stage:         certrotation.Stage(a.Stage),
			StageSince:    toTimePointer(a.StageSince),
			StageDeadline: toTimePointer(a.StageDeadline),
			Certificate:   optionalAuthorityFacts(s.Active),
			Next:          optionalAuthorityFacts(s.Next),
			RotatesAt:     toTimePointer(a.SignerDue),
			Trust:         r.trusted(),
			Members:       r.members("", r.previousCertificate(s.Name).Members),
			Blockers:      append(Blockers(a.Blockers), r.rolloutBlockers()...),
		},
	}
	for _, previous := range s.Previous {
		out.Status.Previous = append(out.Status.Previous, authorityFacts(previous))
	}
	c := r.conditions(&out.ObjectMeta, r.previousCertificate(s.Name).Conditions)
	c.set(certrotation.ConditionReady, r.signerReady())
	c.set(certrotation.ConditionProgressing, r.progressing(secretRef(s.Name)))
	c.set(certrotation.ConditionBlocked, blockedBy(a.Blocked(), a.Blockers))
	c.set(certrotation.ConditionDegraded, r.signerDegraded())
	out.Status.Conditions = append(c.list, r.rolloutConditions(out.CreationTimestamp)...)
	return out
}

// leaf renders one leaf. It lists the members that hold the leaf, and only counts those that verify it: listing them
// on each leaf would make a namespace's size a product.
func (r *renderer) leaf(l *trust.Leaf, la *trust.LeafAssessment) *certrotation.CertificateRotation {
	a := r.assessment
	waiting := slices.Concat(la.Waiting, r.refused(secretRef(l.Name)))
	out := &certrotation.CertificateRotation{
		ObjectMeta: r.metadata(&l.Object, ResourceCertificates, LabelRoleLeaf),
		Spec: certrotation.CertificateRotationSpec{
			Role:        certrotation.RoleLeaf,
			TrustDomain: r.domain.Name,
			Signer:      r.domain.Signer.Name,
			Bundle:      r.domain.Bundle.Name,
			Usages:      usages(l),
		},
		Status: certrotation.CertificateRotationStatus{
			Stage:         certrotation.Stage(a.Stage),
			StageSince:    toTimePointer(a.StageSince),
			StageDeadline: toTimePointer(a.StageDeadline),
			RotatesAt:     toTimePointer(la.Due),
			Trust:         certrotation.TrustCount{Trusted: count(la.Trusted), Total: count(la.Verifiers), Unknown: r.silent[l.Name]},
			Members:       r.members(l.Name, r.previousCertificate(l.Name).Members),
			Blockers:      Blockers(waiting),
		},
	}
	if l.Certificate != nil {
		facts := certificateFacts(l.Certificate, la.SignedBy)
		out.Status.Certificate = &facts
	}
	c := r.conditions(&out.ObjectMeta, r.previousCertificate(l.Name).Conditions)
	c.set(certrotation.ConditionReady, r.leafReady(l, la))
	c.set(certrotation.ConditionProgressing, r.progressing(secretRef(l.Name)))
	c.set(certrotation.ConditionBlocked, blockedBy(len(waiting) > 0, waiting))
	c.set(certrotation.ConditionDegraded, r.objectDegraded(secretRef(l.Name)))
	out.Status.Conditions = c.list
	return out
}

func usages(l *trust.Leaf) []string {
	var out []string
	for _, usage := range l.Policy.Profile.Usages {
		out = append(out, string(usage))
	}
	return out
}

// maxNeeds bounds how many leaves and members the reason of an anchor names.
const maxNeeds = 5

func (r *renderer) bundle() *certrotation.BundleStatus {
	b, a := &r.domain.Bundle, r.assessment
	out := &certrotation.BundleStatus{
		ObjectMeta: r.metadata(&b.Object, ResourceBundles, LabelRoleBundle),
		Spec: certrotation.BundleStatusSpec{
			TrustDomain: r.domain.Name,
			Signer:      r.domain.Signer.Name,
		},
		Status: certrotation.BundleStatusStatus{
			Stage:   certrotation.Stage(a.Stage),
			Anchors: r.anchors(),
			Trust:   r.trusted(),
		},
	}
	c := r.conditions(&out.ObjectMeta, r.previousBundle(b.Name).Conditions)
	c.set(certrotation.ConditionReady, r.bundleReady())
	c.set(certrotation.ConditionProgressing, r.progressing(b.Ref()))
	if refused := r.refused(b.Ref()); len(refused) > 0 {
		c.set(certrotation.ConditionBlocked, blockedBy(true, refused))
	} else {
		c.set(certrotation.ConditionBlocked, blockedBy(a.Blocked(), a.Blockers))
	}
	c.set(certrotation.ConditionDegraded, r.objectDegraded(b.Ref()))
	out.Status.Conditions = c.list
	return out
}

func (r *renderer) anchors() []certrotation.Anchor {
	var out []certrotation.Anchor
	for i := range r.assessment.Anchors {
		anchor := &r.assessment.Anchors[i]
		out = append(out, certrotation.Anchor{
			Certificate:  authorityFacts(anchor.Certificate),
			Slot:         string(anchor.Slot),
			Leaves:       count(anchor.Leaves),
			Trust:        certrotation.TrustCount{Trusted: count(anchor.Trusted), Total: count(anchor.Members), Unknown: r.unknown},
			SafeToRemove: anchor.SafeToRemove,
			Reason:       neededBy(anchor.NeededBy),
		})
	}
	return out
}

func neededBy(needs []string) string {
	if len(needs) == 0 {
		return ""
	}
	named := needs[:min(len(needs), maxNeeds)]
	return "needed by " + strings.Join(named, ", ") + andMore(len(needs)-len(named))
}

// count converts a number of objects, which is never negative, to the type of the API.
func count(n int) int32 {
	return int32(min(n, math.MaxInt32))
}

// certificateFacts returns the public facts of a certificate. signer is the CA that is known to have signed it, or
// nil.
func certificateFacts(c, signer *pki.Certificate) certrotation.Certificate {
	out := certrotation.Certificate{
		Fingerprint:  string(c.Fingerprint),
		Subject:      c.Subject,
		Issuer:       c.Issuer,
		SerialNumber: c.SerialNumber,
		KeyAlgorithm: string(c.KeyAlgorithm),
		NotBefore:    toTime(c.NotBefore),
		NotAfter:     toTime(c.NotAfter),
	}
	if signer != nil {
		out.SignedBy = string(signer.Fingerprint)
	}
	return out
}

// authorityFacts returns the facts of a CA, which is self-signed or was signed outside of this domain.
func authorityFacts(c *pki.Certificate) certrotation.Certificate {
	if c.SignedBy(c) {
		return certificateFacts(c, c)
	}
	return certificateFacts(c, nil)
}

func optionalAuthorityFacts(c *pki.Certificate) *certrotation.Certificate {
	if c == nil {
		return nil
	}
	facts := authorityFacts(c)
	return &facts
}

// Blockers converts blockers of the model to those of the API.
func Blockers(in []trust.Blocker) []certrotation.Blocker {
	var out []certrotation.Blocker
	for _, b := range in {
		out = append(out, certrotation.Blocker{
			Party:   b.Party,
			Member:  b.Member,
			Object:  b.Object,
			Reason:  string(b.Reason),
			Message: b.Message,
		})
	}
	return out
}
