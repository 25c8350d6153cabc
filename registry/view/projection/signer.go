// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"certrotation.dev/apis/certrotation"
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
			Members:       r.members("", r.previousMembers(s.Name)),
			Blockers:      append(Blockers(a.Blockers), r.rolloutBlockers()...),
		},
	}
	for _, previous := range s.Previous {
		out.Status.Previous = append(out.Status.Previous, authorityFacts(previous))
	}
	c := r.conditions(&out.ObjectMeta, r.previousCertificate(s.Name))
	c.set(certrotation.ConditionReady, r.signerReady())
	c.set(certrotation.ConditionProgressing, r.progressing(secretRef(s.Name)))
	c.set(certrotation.ConditionBlocked, blockedBy(a.Blocked(), a.Blockers))
	c.set(certrotation.ConditionDegraded, r.signerDegraded())
	out.Status.Conditions = append(c.list, r.rolloutConditions(out.CreationTimestamp)...)
	return out
}
