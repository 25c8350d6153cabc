// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Input is the whole input of the objects of one namespace.
type Input struct {
	Namespace *inventory.Namespace
	// Assessments of Namespace.Domains, in the same order.
	Assessments []*trust.Assessment
	// Configured is the creation time of objects whose source does not exist.
	Configured time.Time
	// Previous are the objects that are served now, nil if there are none. Their transition times carry over.
	Previous *Objects
	// Now is the time of a transition that this rendering detects.
	Now time.Time
}

// Objects are the virtual objects of one namespace by name.
type Objects struct {
	Certificates map[string]*certrotation.CertificateRotation
	Bundles      map[string]*certrotation.BundleStatus
}

func newObjects() *Objects {
	return &Objects{
		Certificates: map[string]*certrotation.CertificateRotation{},
		Bundles:      map[string]*certrotation.BundleStatus{},
	}
}

// Render returns one CertificateRotation per signer and leaf, and one BundleStatus per bundle, even if the source is
// broken or does not exist yet.
func Render(in Input) *Objects {
	out := newObjects()
	for i, domain := range in.Namespace.Domains {
		r := &renderer{Input: in, domain: domain, assessment: in.Assessments[i], rollout: rolloutOf(in.Namespace, domain.Name)}
		r.countUnknown()
		signer := r.signer()
		out.Certificates[signer.Name] = signer
		for j := range domain.Leaves {
			leaf := r.leaf(&domain.Leaves[j], r.leafAssessment(j))
			out.Certificates[leaf.Name] = leaf
		}
		bundle := r.bundle()
		out.Bundles[bundle.Name] = bundle
	}
	return out
}

type renderer struct {
	Input

	domain     *trust.Domain
	assessment *trust.Assessment
	// rollout of the domain's configuration, nil if there is none.
	rollout *inventory.Rollout
	// unknown counts the members for which isUnknown is true. silent counts them per leaf that they verify.
	unknown int32
	silent  map[string]int32
}

func (r *renderer) countUnknown() {
	for i := range r.assessment.Members {
		if isUnknown(&r.assessment.Members[i]) {
			r.unknown++
		}
	}
	r.silent = r.unknownVerifiers()
}

// leafAssessment returns the assessment of the leaf at an index of the domain. A leaf without one is shown as
// unusable.
func (r *renderer) leafAssessment(index int) *trust.LeafAssessment {
	if index < len(r.assessment.Leaves) {
		return &r.assessment.Leaves[index]
	}
	return &trust.LeafAssessment{Name: r.domain.Leaves[index].Name}
}

func (r *renderer) previousCertificate(name string) certrotation.CertificateRotationStatus {
	if r.Previous == nil || r.Previous.Certificates[name] == nil {
		return certrotation.CertificateRotationStatus{}
	}
	return r.Previous.Certificates[name].Status
}

func (r *renderer) previousBundle(name string) certrotation.BundleStatusStatus {
	if r.Previous == nil || r.Previous.Bundles[name] == nil {
		return certrotation.BundleStatusStatus{}
	}
	return r.Previous.Bundles[name].Status
}
