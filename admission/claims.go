// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// isUnmanaged reports whether an object lacks consent to the claiming configuration both before and after an edit of
// its annotations. Such an object is its owner's alone: the configuration does not restrict edits of it.
func isUnmanaged(claim inventory.Claim, old, changed map[string]string) bool {
	return claim.Kind != inventory.ClaimCopy &&
		!trust.Consents(old, claim.Configuration) && !trust.Consents(changed, claim.Configuration)
}

func (h *Handler) judgeClaim(req *admissionv1.AdmissionRequest, kind trust.ObjectKind, name string, claim inventory.Claim,
	before, after *inventory.Namespace,
) judgement {
	switch claim.Kind {
	case inventory.ClaimSigner, inventory.ClaimLeaf, inventory.ClaimBundle:
		return h.judgeDomain(claim.Domain, before, after)
	case inventory.ClaimAggregate:
		return h.judgeAggregate(kind, name, before, after)
	case inventory.ClaimCopy:
		return h.judgeCopy(req, kind, name, before)
	case inventory.ClaimIssued, inventory.ClaimKubeconfig, inventory.ClaimCluster:
		// Others write kubeconfigs, and what an issuer delivers: what comes of that is judged when it is taken.
	}
	return judgement{}
}

// judgeCopy denies nothing: the controller reverts edits of copies. It warns the user, unless that is certrotation
// itself.
func (h *Handler) judgeCopy(req *admissionv1.AdmissionRequest, kind trust.ObjectKind, name string, before *inventory.Namespace) judgement {
	if h.writers.Has(req.UserInfo.Username) {
		return judgement{}
	}
	for _, c := range before.Copies {
		if trust.ObjectKind(c.Kind) == kind && c.ToName == name && c.ToNamespace == before.Name && c.Cluster == "" {
			return judgement{warnings: []string{fmt.Sprintf("%s/%s is a copy of %s/%s and is made to follow it again", kind, name, kind, c.Name)}}
		}
	}
	return judgement{}
}

func (h *Handler) judgeDomain(name string, before, after *inventory.Namespace) judgement {
	old, changed := before.Domain(name), after.Domain(name)
	if old == nil || changed == nil {
		return judgement{}
	}
	return judgement{
		violations: trust.Judge(old, changed, h.clock.Now()),
		risky:      loses(old, changed),
		warnings:   consequences(old, changed),
	}
}

// judgeAggregate judges an edit of one half, Secret or ConfigMap, of an aggregate.
func (h *Handler) judgeAggregate(kind trust.ObjectKind, name string, before, after *inventory.Namespace) judgement {
	old, changed := aggregateOf(before, kind, name), aggregateOf(after, kind, name)
	if old == nil || changed == nil {
		return judgement{}
	}
	f := judgement{
		violations: trust.JudgeAggregate(old, changed, before.Domains, h.clock.Now()),
		risky:      gone(&old.Secret, &changed.Secret) || gone(&old.ConfigMap, &changed.ConfigMap),
	}
	if f.risky && !trust.Released(&old.Secret, &changed.Secret) && !trust.Released(&old.ConfigMap, &changed.ConfigMap) {
		f.warnings = []string{fmt.Sprintf("%s/%s is rebuilt from the objects that it collects", kind, name)}
	}
	return f
}

func aggregateOf(n *inventory.Namespace, kind trust.ObjectKind, name string) *trust.Aggregate {
	for _, a := range n.Aggregates {
		if (kind == trust.SecretKind && a.Secret.Name == name) || (kind == trust.ConfigMapKind && a.ConfigMap.Name == name) {
			return a
		}
	}
	return nil
}
