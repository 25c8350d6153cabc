// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// States is the output of "status -o json".
type States struct {
	// Domains, the worst first.
	Domains []DomainState `json:"domains"`
}

// DomainState is the state of one trust domain.
type DomainState struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Signer    string         `json:"signer"`
	Stage     v1alpha1.Stage `json:"stage"`
	Since     *metav1.Time   `json:"stageSince,omitempty"`
	// Overdue is set if the deadline of the stage is over.
	Overdue bool `json:"overdue,omitempty"`
	// Ready counts the signer, the bundle and the leaves that can be used, of Objects. Problem is what one of the others
	// says.
	Ready   int    `json:"ready"`
	Objects int    `json:"objects"`
	Problem string `json:"problem,omitempty"`
	// Next is what happens first to a certificate or anchor.
	Next     *NextEvent         `json:"next,omitempty"`
	Blockers []v1alpha1.Blocker `json:"blockers,omitempty"`
}

// NextEvent is the renewal or the end of a certificate.
type NextEvent struct {
	// Object is KIND/NAME; Subject is set for one of several certificates in it.
	Object  string      `json:"object"`
	Subject string      `json:"subject,omitempty"`
	At      metav1.Time `json:"at"`
	// Expires is true for an end, false for a renewal.
	Expires bool `json:"expires"`
}

func statesOf(tree *Tree, now metav1.Time) *States {
	out := &States{Domains: make([]DomainState, 0, len(tree.Domains))}
	for i := range tree.Domains {
		out.Domains = append(out.Domains, stateOf(&tree.Domains[i], now))
	}
	slices.SortStableFunc(out.Domains, func(a, b DomainState) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), compareEvents(a.Next, b.Next))
	})
	return out
}

func stateOf(d *Domain, now metav1.Time) DomainState {
	s := DomainState{
		Namespace: d.Namespace, Name: d.Name, Signer: d.Signer.Name, Stage: d.Stage, Since: d.StageSince,
		Blockers: d.Blockers, Next: nextEvent(d),
	}
	_, s.Overdue = deadline(now.Time, d.StageDeadline)
	s.count("Secret/"+d.Signer.Name, d.Signer.Health)
	if d.Bundle != nil {
		s.count("ConfigMap/"+d.Bundle.Name, d.Bundle.Health)
	}
	for i := range d.Leaves {
		s.count("Secret/"+d.Leaves[i].Name, d.Leaves[i].Health)
	}
	return s
}

func (d *DomainState) count(object string, h Health) {
	d.Objects++
	switch {
	case h.Ready:
		d.Ready++
	case d.Problem == "":
		d.Problem = object + ": " + h.text()
	}
}

// rank is lower for what is worse.
func (d *DomainState) rank() int {
	switch {
	case d.Ready < d.Objects:
		return 0
	case d.Overdue:
		return 1
	case len(d.Blockers) > 0:
		return 2
	case d.Stage != v1alpha1.StageStable:
		return 3
	}
	return 4
}

// nextEvent returns the earliest renewal or end of a certificate of the domain, nil if none is known.
func nextEvent(d *Domain) *NextEvent {
	var first *NextEvent
	add := func(object, subject string, at *metav1.Time, expires bool) {
		next := &NextEvent{Object: object, Subject: subject, Expires: expires}
		if at == nil {
			return
		}
		if next.At = *at; first == nil || compareEvents(next, first) < 0 {
			first = next
		}
	}
	signer := "Secret/" + d.Signer.Name
	add(signer, "", d.Signer.RotatesAt, false)
	for i := range d.Signer.Slots {
		c := &d.Signer.Slots[i].Certificate
		add(signer, c.Subject, &c.NotAfter, true)
	}
	if d.Bundle != nil {
		for i := range d.Bundle.Anchors {
			a := &d.Bundle.Anchors[i]
			add("ConfigMap/"+d.Bundle.Name, a.Subject, &a.NotAfter, true)
		}
	}
	for i := range d.Leaves {
		l := &d.Leaves[i]
		add("Secret/"+l.Name, "", l.RotatesAt, false)
		if l.Certificate != nil {
			add("Secret/"+l.Name, "", &l.Certificate.NotAfter, true)
		}
	}
	return first
}

func compareEvents(a, b *NextEvent) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.At.Compare(b.At.Time)
}
