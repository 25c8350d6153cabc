// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"slices"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
)

// leaf renders one leaf. Its members are those that hold it: the ones that verify it are counted in its trust, and
// listing them on each leaf would make a namespace's size a product.
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
			Members:       r.members(l.Name, r.previousMembers(l.Name)),
			Blockers:      Blockers(waiting),
		},
	}
	if l.Certificate != nil {
		facts := certificateFacts(l.Certificate, la.SignedBy)
		out.Status.Certificate = &facts
	}
	c := r.conditions(&out.ObjectMeta, r.previousCertificate(l.Name))
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
