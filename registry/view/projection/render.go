// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Input is everything that the objects of one namespace are made of.
type Input struct {
	Namespace *inventory.Namespace
	// Assessments of Namespace.Domains, in the same order.
	Assessments []*trust.Assessment
	// Configured is the creation time of objects whose source does not exist.
	Configured time.Time
	// Previous are the objects that are served now, nil if there are none. Transition times are carried over from them.
	Previous *Objects
	// Now is the time of a transition that is seen in this rendering.
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

// Render makes one CertificateRotation for each signer and leaf, and one BundleStatus for each bundle, whether the
// source exists, is broken, or is yet to be made.
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

// renderer renders one trust domain.
type renderer struct {
	Input

	domain     *trust.Domain
	assessment *trust.Assessment
	// rollout of the configuration of the domain, nil if there is none.
	rollout *inventory.Rollout
	// unknown counts the verifying members of whom nothing is known, and silent those of each leaf.
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

// leafAssessment of the leaf at an index of the domain. A leaf that was not assessed is shown as unusable.
func (r *renderer) leafAssessment(index int) *trust.LeafAssessment {
	if index < len(r.assessment.Leaves) {
		return &r.assessment.Leaves[index]
	}
	return &trust.LeafAssessment{Name: r.domain.Leaves[index].Name}
}

// previousCertificate is the status of an object as it is served now.
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
