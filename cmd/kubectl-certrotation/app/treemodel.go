// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// Tree is the output of "tree -o json".
type Tree struct {
	// Domains, ordered by namespace, name and signer.
	Domains []Domain `json:"domains"`
}

// Domain is one trust domain.
type Domain struct {
	Namespace     string         `json:"namespace"`
	Name          string         `json:"name"`
	Stage         v1alpha1.Stage `json:"stage"`
	StageSince    *metav1.Time   `json:"stageSince,omitempty"`
	StageDeadline *metav1.Time   `json:"stageDeadline,omitempty"`
	Signer        Signer         `json:"signer"`
	Bundle        *Bundle        `json:"bundle,omitempty"`
	Leaves        []Leaf         `json:"leaves,omitempty"`
	Parties       []Party        `json:"relyingParties,omitempty"`
	// Rollout has the conditions of the rollout that brings the leaves and the bundle to nodes, if there is one.
	Rollout  []metav1.Condition `json:"rollout,omitempty"`
	Blockers []v1alpha1.Blocker `json:"blockers,omitempty"`
}

// Health is the condition Ready, with the message of the problem if there is one.
type Health struct {
	Ready   bool   `json:"ready"`
	Message string `json:"message,omitempty"`
}

// text is the message of an object that cannot be used.
func (h Health) text() string { return cmp.Or(h.Message, "its state is not known") }

// Signer is the CA key pair of a domain.
type Signer struct {
	Name      string       `json:"name"`
	Health    Health       `json:"health"`
	RotatesAt *metav1.Time `json:"rotatesAt,omitempty"`
	// Slots in the order active, next, previous.
	Slots []Slot `json:"slots,omitempty"`
}

// Slot of a signer that holds a CA.
type Slot struct {
	Slot        string               `json:"slot"`
	Certificate v1alpha1.Certificate `json:"certificate"`
}

// Bundle of trust anchors.
type Bundle struct {
	Name    string            `json:"name"`
	Health  Health            `json:"health"`
	Anchors []v1alpha1.Anchor `json:"anchors,omitempty"`
}

// Leaf of a domain.
type Leaf struct {
	Name        string                `json:"name"`
	Health      Health                `json:"health"`
	Usages      []string              `json:"usages,omitempty"`
	Certificate *v1alpha1.Certificate `json:"certificate,omitempty"`
	// SignedBy is the slot of the CA that signed the leaf, "" if it is unknown.
	SignedBy  string              `json:"signedBySlot,omitempty"`
	RotatesAt *metav1.Time        `json:"rotatesAt,omitempty"`
	Trust     v1alpha1.TrustCount `json:"trust"`
	Blockers  []v1alpha1.Blocker  `json:"blockers,omitempty"`
}

// Party is a relying party with its members.
type Party struct {
	Name    string                  `json:"name"`
	Members []v1alpha1.MemberStatus `json:"members"`
}

// domainKey identifies a domain in a list: a signer belongs to one domain.
type domainKey struct{ namespace, signer string }

func newTree(rotations []v1alpha1.CertificateRotation, bundles []v1alpha1.BundleStatus) *Tree {
	domains := map[domainKey]*Domain{}
	domain := func(namespace, signer, name string) *Domain {
		key := domainKey{namespace, signer}
		if domains[key] == nil {
			domains[key] = &Domain{Namespace: namespace, Name: name, Signer: Signer{Name: signer}}
		}
		return domains[key]
	}
	for i := range rotations {
		r := &rotations[i]
		d := domain(r.Namespace, r.Spec.Signer, r.Spec.TrustDomain)
		if r.Spec.Role == v1alpha1.RoleSigner {
			d.addSigner(r)
			continue
		}
		d.addLeaf(r)
	}
	for i := range bundles {
		b := &bundles[i]
		domain(b.Namespace, b.Spec.Signer, b.Spec.TrustDomain).addBundle(b)
	}
	tree := &Tree{Domains: make([]Domain, 0, len(domains))}
	for _, d := range domains {
		d.resolve()
		tree.Domains = append(tree.Domains, *d)
	}
	slices.SortFunc(tree.Domains, func(a, b Domain) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Signer.Name, b.Signer.Name))
	})
	return tree
}

func (d *Domain) addSigner(r *v1alpha1.CertificateRotation) {
	s := &r.Status
	d.Stage, d.StageSince, d.StageDeadline, d.Blockers = s.Stage, s.StageSince, s.StageDeadline, s.Blockers
	d.Rollout = rolloutConditions(s.Conditions)
	d.Signer.Health = health(s.Conditions)
	d.Signer.RotatesAt = s.RotatesAt
	if s.Certificate != nil {
		d.Signer.Slots = append(d.Signer.Slots, Slot{Slot: slotActive, Certificate: *s.Certificate})
	}
	if s.Next != nil {
		d.Signer.Slots = append(d.Signer.Slots, Slot{Slot: slotNext, Certificate: *s.Next})
	}
	for _, previous := range s.Previous {
		d.Signer.Slots = append(d.Signer.Slots, Slot{Slot: slotPrevious, Certificate: previous})
	}
	for _, m := range s.Members {
		at := slices.IndexFunc(d.Parties, func(p Party) bool { return p.Name == m.Party })
		if at < 0 {
			at = len(d.Parties)
			d.Parties = append(d.Parties, Party{Name: m.Party})
		}
		d.Parties[at].Members = append(d.Parties[at].Members, m)
	}
}

func (d *Domain) addLeaf(r *v1alpha1.CertificateRotation) {
	if d.Stage == "" {
		d.Stage = r.Status.Stage
	}
	d.Leaves = append(d.Leaves, Leaf{
		Name:        r.Name,
		Health:      health(r.Status.Conditions),
		Usages:      r.Spec.Usages,
		Certificate: r.Status.Certificate,
		RotatesAt:   r.Status.RotatesAt,
		Trust:       r.Status.Trust,
		Blockers:    r.Status.Blockers,
	})
}

func (d *Domain) addBundle(b *v1alpha1.BundleStatus) {
	d.Bundle = &Bundle{Name: b.Name, Health: health(b.Status.Conditions), Anchors: b.Status.Anchors}
}

// Slots of a signer. The anchors of a bundle use the same names.
const (
	slotActive   = "active"
	slotNext     = "next"
	slotPrevious = "previous"
)

func (d *Domain) resolve() {
	slots := map[string]string{}
	if d.Bundle != nil {
		for _, anchor := range d.Bundle.Anchors {
			slots[anchor.Fingerprint] = anchor.Slot
		}
	}
	for _, s := range d.Signer.Slots {
		slots[s.Certificate.Fingerprint] = s.Slot
	}
	slices.SortFunc(d.Leaves, func(a, b Leaf) int { return cmp.Compare(a.Name, b.Name) })
	for i := range d.Leaves {
		if c := d.Leaves[i].Certificate; c != nil && c.SignedBy != "" {
			d.Leaves[i].SignedBy = slots[c.SignedBy]
		}
	}
}

// rolloutConditions are the conditions that are not the signer's own.
func rolloutConditions(conditions []metav1.Condition) []metav1.Condition {
	own := []string{v1alpha1.ConditionReady, v1alpha1.ConditionProgressing, v1alpha1.ConditionBlocked, v1alpha1.ConditionDegraded}
	var out []metav1.Condition
	for _, c := range conditions {
		if !slices.Contains(own, c.Type) {
			out = append(out, c)
		}
	}
	return out
}

// health takes the message of Ready if it is not true, else of Degraded if it is true.
func health(conditions []metav1.Condition) Health {
	h := Health{Ready: meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)}
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	degraded := meta.FindStatusCondition(conditions, v1alpha1.ConditionDegraded)
	switch {
	case ready != nil && !h.Ready:
		h.Message = ready.Message
	case degraded != nil && degraded.Status == metav1.ConditionTrue:
		h.Message = degraded.Message
	}
	return h
}
