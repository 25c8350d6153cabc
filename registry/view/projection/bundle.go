// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"math"
	"strings"

	"certrotation.dev/apis/certrotation"
)

// maxNeeds bounds how many of the leaves and members that need an anchor are named in its reason.
const maxNeeds = 5

// bundle renders the bundle with one entry for each anchor.
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
	c := r.conditions(&out.ObjectMeta, r.previousBundle(b.Name))
	c.set(certrotation.ConditionReady, r.bundleReady())
	c.set(certrotation.ConditionProgressing, r.progressing(configMapRef(b.Name)))
	if refused := r.refused(configMapRef(b.Name)); len(refused) > 0 {
		c.set(certrotation.ConditionBlocked, blockedBy(true, refused))
	} else {
		c.set(certrotation.ConditionBlocked, blockedBy(a.Blocked(), a.Blockers))
	}
	c.set(certrotation.ConditionDegraded, r.objectDegraded(configMapRef(b.Name)))
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

// count fits a number of objects, which is never negative, into the type of the API.
func count(n int) int32 {
	return int32(min(n, math.MaxInt32))
}
