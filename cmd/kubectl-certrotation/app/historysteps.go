// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// History is the output of "history -o json".
type History struct {
	Namespace   string             `json:"namespace"`
	TrustDomain string             `json:"trustDomain"`
	Signer      string             `json:"signer"`
	Stage       v1alpha1.Stage     `json:"stage"`
	StageSince  *metav1.Time       `json:"stageSince,omitempty"`
	Blockers    []v1alpha1.Blocker `json:"blockers,omitempty"`
	// Steps, the oldest first.
	Steps []Step `json:"steps"`
	// Notes say where the history ends, and what could not be read.
	Notes []string `json:"notes"`

	// objects are the objects whose steps count, as KIND/NAME.
	objects map[string]bool
}

// Step is one thing that happened.
type Step struct {
	Time metav1.Time `json:"time"`
	// Source is Event, Record, Status or Certificate.
	Source string `json:"source"`
	Object string `json:"object"`
	Reason string `json:"reason"`
	// Type is that of an event: Normal or Warning.
	Type    string `json:"type"`
	Message string `json:"message"`
	// Count and Last are set if it happened more than once.
	Count int32        `json:"count,omitempty"`
	Last  *metav1.Time `json:"last,omitempty"`
}

// newHistory takes what the present state tells of the past. The tree has the trust domain of t.
func newHistory(t *target, tree *Tree) *History {
	h := &History{Namespace: t.namespace, Steps: []Step{}, Notes: []string{}, objects: map[string]bool{}}
	for i := range tree.Domains {
		d := &tree.Domains[i]
		h.TrustDomain, h.Signer, h.Stage, h.StageSince, h.Blockers = d.Name, d.Signer.Name, d.Stage, d.StageSince, d.Blockers
		h.objects[string(trust.RecordKind)+"/"+record.RosterName(d.Name)] = true
		if d.Bundle != nil {
			h.objects["ConfigMap/"+d.Bundle.Name] = true
		}
		signer := "Secret/" + d.Signer.Name
		h.objects[signer] = true
		for k := range d.Signer.Slots {
			h.addCertificate(signer, &d.Signer.Slots[k].Certificate)
		}
		for k := range d.Leaves {
			l := &d.Leaves[k]
			if t.name != d.Signer.Name && t.name != l.Name {
				continue
			}
			h.objects["Secret/"+l.Name] = true
			if l.Certificate != nil {
				h.addCertificate("Secret/"+l.Name, l.Certificate)
			}
		}
		h.addStatus(signer, d)
	}
	return h
}

func (h *History) add(at metav1.Time, source, object, reason, kind, message string) *Step {
	h.Steps = append(h.Steps, Step{Time: at, Source: source, Object: object, Reason: reason, Type: kind, Message: message})
	return &h.Steps[len(h.Steps)-1]
}

func (h *History) note(text string) { h.Notes = append(h.Notes, oneLine(text)) }

func (h *History) addCertificate(object string, c *v1alpha1.Certificate) {
	h.add(c.NotBefore, "Certificate", object, "ValidFrom", corev1.EventTypeNormal,
		fmt.Sprintf("%s (%s) is valid from here", c.Subject, short(c.Fingerprint)))
}

// addStatus adds the beginning of the stage and of each blocker. Events of these may be gone.
func (h *History) addStatus(signer string, d *Domain) {
	if d.StageSince != nil && d.Stage != v1alpha1.StageStable {
		h.add(*d.StageSince, "Status", signer, "StageBegan", corev1.EventTypeNormal, fmt.Sprintf("the stage %s began", d.Stage))
	}
	for i := range d.Blockers {
		if b := &d.Blockers[i]; b.Since != nil {
			h.add(*b.Since, "Status", signer, b.Reason, corev1.EventTypeWarning, "waits since then for "+blockerText(b))
		}
	}
}

func (h *History) addEvents(events []corev1.Event) {
	var oldest metav1.Time
	for i := range events {
		e := &events[i]
		object := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name
		if !h.objects[object] {
			continue
		}
		first, last, count := timesOf(e)
		if oldest.IsZero() || first.Before(&oldest) {
			oldest = first
		}
		step := h.add(first, "Event", object, e.Reason, e.Type, e.Message)
		if count > 1 {
			step.Count, step.Last = count, &last
		}
	}
	const ends = "An API server keeps events for an hour by default (--event-ttl): "
	if oldest.IsZero() {
		h.note(ends + "there are none now.")
		return
	}
	h.note(ends + "the oldest here is of " + oldest.UTC().Format(time.RFC3339) + ".")
}

// timesOf returns the first and the last time of an event, and how often it happened. Recorders of the two APIs fill in
// different fields.
func timesOf(e *corev1.Event) (first, last metav1.Time, count int32) {
	first = e.FirstTimestamp
	if first.IsZero() {
		first = metav1.NewTime(e.EventTime.Time)
	}
	if first.IsZero() {
		first = e.CreationTimestamp
	}
	last, count = e.LastTimestamp, e.Count
	if s := e.Series; s != nil {
		last, count = metav1.NewTime(s.LastObservedTime.Time), s.Count
	}
	if last.IsZero() {
		last = first
	}
	return first, last, count
}

func (h *History) addRecords(records []configv1alpha1.RotationRecord) {
	for i := range records {
		r := &records[i]
		if r.Spec.TrustDomain != h.TrustDomain {
			continue
		}
		of := func(reason, kind, message string) {
			h.add(r.CreationTimestamp, "Record", string(trust.RecordKind)+"/"+r.Name, reason, kind, message)
		}
		switch s := &r.Spec; {
		case s.Request != nil && h.objects["Secret/"+s.Request.SecretName]:
			of(string(s.Request.Kind)+"Requested", corev1.EventTypeNormal, requestText(s.Request))
		case s.Waiver != nil:
			of("Waived", corev1.EventTypeWarning, fmt.Sprintf("%s waived the evidence of %s until %s: %s",
				cmp.Or(s.Waiver.WaivedBy, "an unknown user"),
				trust.MemberName(s.Waiver.Party, s.Waiver.Member), s.Waiver.Expires.UTC().Format(time.RFC3339), s.Waiver.Reason))
		case s.Refusal != nil:
			h.add(s.Refusal.Since, "Record", s.Refusal.Object, "WriteRefused", corev1.EventTypeWarning,
				fmt.Sprintf("%s is refused: %s", s.Refusal.Verb, s.Refusal.Answer))
		}
	}
}

func requestText(r *configv1alpha1.RecordedRequest) string {
	text := fmt.Sprintf("%s asked for it: %s", cmp.Or(r.RequestedBy, "an unknown user"), cmp.Or(r.Reason, "no reason was given"))
	if r.Compromised {
		text += " (the key is compromised)"
	}
	return text
}

func (h *History) sort() {
	slices.SortStableFunc(h.Steps, func(a, b Step) int { return a.Time.Compare(b.Time.Time) })
}
