// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// Decode reads a record. Its errors wrap ErrMalformed and name the field, but quote no value.
func Decode(r *configv1alpha1.RotationRecord) (*Record, error) {
	c := &checker{}
	if r.Spec.Kind == configv1alpha1.RecordRefusal {
		// Some objects span the domains of a configuration.
		c.text("trustDomain", r.Spec.TrustDomain, maxName)
	} else {
		c.name("trustDomain", r.Spec.TrustDomain)
	}
	out := &Record{Domain: r.Spec.TrustDomain, Kind: r.Spec.Kind}
	// The subject is for people and repeats what the record says.
	want := out.read(c, r)
	if c.err != nil {
		return nil, c.err
	}
	if r.Name != want {
		return nil, fmt.Errorf("%w: metadata.name: a record of this must be named %s", ErrMalformed, want)
	}
	return out, nil
}

// read fills in what the kind names, and returns the name that the record must have.
func (out *Record) read(c *checker, r *configv1alpha1.RotationRecord) string {
	spec := &r.Spec
	if set := fieldsOf(spec); len(set) != 1 || set[0] != spec.Kind {
		c.fail("kind", "exactly the field that it names must be set")
		return ""
	}
	switch spec.Kind {
	case configv1alpha1.RecordRequest:
		out.Request, out.RequestedBy = c.request(spec.Request, string(r.UID), r.Name), spec.Request.RequestedBy
		return RequestName(out.Request.Kind, out.Request.Secret)
	case configv1alpha1.RecordRoster:
		out.Roster = c.roster(spec.Roster)
		out.Roster.ResourceVersion = r.ResourceVersion
		return RosterName(out.Domain)
	case configv1alpha1.RecordWaiver:
		out.Waiver = c.waiver(spec.Waiver)
		return WaiverName(out.Domain, out.Waiver.Party, out.Waiver.Member)
	case configv1alpha1.RecordEvidence:
		out.Evidence = c.evidence(spec.Evidence)
		return EvidenceName(out.Domain, out.Evidence.Party, out.Evidence.Member)
	case configv1alpha1.RecordRefusal:
		out.Refusal = c.refusal(spec.Refusal)
		return RefusalName(out.Refusal.Object)
	case configv1alpha1.RecordClock:
		if seconds := spec.Clock.SkewSeconds; seconds < -maxSkewSeconds || seconds > maxSkewSeconds {
			c.fail("clock.skewSeconds", "no clock is off by so much")
		}
		out.ClockSkew = time.Duration(spec.Clock.SkewSeconds) * time.Second
		return ClockName(out.Domain)
	}
	c.fail("kind", "it is not known")
	return ""
}

// fieldsOf are the kinds whose fields are set.
func fieldsOf(spec *configv1alpha1.RotationRecordSpec) []configv1alpha1.RecordKind {
	var set []configv1alpha1.RecordKind
	add := func(isSet bool, kind configv1alpha1.RecordKind) {
		if isSet {
			set = append(set, kind)
		}
	}
	add(spec.Request != nil, configv1alpha1.RecordRequest)
	add(spec.Roster != nil, configv1alpha1.RecordRoster)
	add(spec.Waiver != nil, configv1alpha1.RecordWaiver)
	add(spec.Evidence != nil, configv1alpha1.RecordEvidence)
	add(spec.Refusal != nil, configv1alpha1.RecordRefusal)
	add(spec.Clock != nil, configv1alpha1.RecordClock)
	return set
}

func (c *checker) request(r *configv1alpha1.RecordedRequest, uid, name string) *trust.Request {
	kind := trust.RequestKind(r.Kind)
	switch kind {
	case trust.RequestRotate, trust.RequestAbort:
	default:
		c.fail("request.kind", "it is not known")
	}
	c.name("request.secretName", r.SecretName)
	c.text("request.reason", r.Reason, maxText)
	c.text("request.requestedBy", r.RequestedBy, maxUser)
	return &trust.Request{
		ID: uid, Record: name, Kind: kind, Secret: r.SecretName, Reason: r.Reason, Compromised: r.Compromised,
	}
}

func (c *checker) waiver(w *configv1alpha1.RecordedWaiver) *trust.Waiver {
	c.name("waiver.party", w.Party)
	c.name("waiver.member", w.Member)
	c.required("waiver.reason", w.Reason, maxText)
	c.text("waiver.waivedBy", w.WaivedBy, maxUser)
	return &trust.Waiver{
		Party: w.Party, Member: w.Member, Reason: w.Reason, By: w.WaivedBy,
		Expires: c.time("waiver.expires", w.Expires.Time, time.Second),
	}
}

func (c *checker) refusal(r *configv1alpha1.RecordedRefusal) *trust.RefusedWrite {
	c.required("refusal.object", r.Object, maxObject)
	if kind, name, ok := strings.Cut(r.Object, "/"); !ok || kind == "" || name == "" {
		c.fail("refusal.object", "it is no Kind/name")
	}
	c.required("refusal.verb", r.Verb, maxVerb)
	c.text("refusal.answer", r.Answer, maxLongText)
	return &trust.RefusedWrite{
		Object: r.Object, Verb: r.Verb, Answer: r.Answer,
		Since: c.time("refusal.since", r.Since.Time, time.Second),
	}
}

// optional reads a time that may be absent.
func (c *checker) optional(field string, t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return c.time(field, t.Time, time.Microsecond)
}
