// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Decode reads a record. Its errors wrap ErrMalformed and name the field, but quote no value.
func Decode(r *configv1alpha1.RotationRecord) (*Record, error) {
	c := &checker{}
	if r.Spec.Kind == configv1alpha1.RecordRefusal {
		// Some refused objects belong to several domains of a configuration.
		c.text("trustDomain", r.Spec.TrustDomain, maxName)
	} else {
		c.name("trustDomain", r.Spec.TrustDomain)
	}
	out := &Record{Domain: r.Spec.TrustDomain, Kind: r.Spec.Kind}
	// The subject is for people and only repeats other fields, so it is not checked.
	want := out.read(c, r)
	if c.err != nil {
		return nil, c.err
	}
	if r.Name != want {
		return nil, fmt.Errorf("%w: metadata.name: a record of this must be named %s", ErrMalformed, want)
	}
	return out, nil
}

// read fills in the field of the record's kind and returns the name that the record must have.
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
		if at := spec.Clock.LookedAt; at != nil {
			out.LookedAt = at.Time
		}
		return ClockName(out.Domain)
	}
	c.fail("kind", "it is not known")
	return ""
}

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
	case trust.RequestRotate, trust.RequestAbort, trust.RequestInstall:
	default:
		c.fail("request.kind", "it is not known")
	}
	c.name("request.secretName", r.SecretName)
	c.text("request.reason", r.Reason, maxText)
	c.text("request.requestedBy", r.RequestedBy, maxUser)
	c.optionalSum("request.newest", r.Newest)
	return &trust.Request{
		ID: uid, Record: name, Kind: kind, Secret: r.SecretName, Newest: pki.Fingerprint(r.Newest),
		Reason: r.Reason, Compromised: r.Compromised, Certificates: c.certificates(kind, r.Certificates),
	}
}

// certificates reads a CA and its issuers, which only a request to install it has.
func (c *checker) certificates(kind trust.RequestKind, text string) []*pki.Certificate {
	if kind != trust.RequestInstall {
		c.text("request.certificates", text, 0)
		return nil
	}
	certs, err := pki.ParseChain([]byte(text))
	if err != nil {
		c.fail("request.certificates", "they are no PEM certificates")
	}
	if len(text) > MaxCertificates {
		c.fail("request.certificates", "they are too long")
	}
	c.bounded("request.certificates", len(certs), pki.MaxChain)
	return certs
}

func (c *checker) waiver(w *configv1alpha1.RecordedWaiver) *trust.Waiver {
	c.name("waiver.party", w.Party)
	c.name("waiver.member", w.Member)
	c.required("waiver.reason", w.Reason, maxText)
	c.text("waiver.waivedBy", w.WaivedBy, maxUser)
	c.optionalSum("waiver.rotatedFrom", w.RotatedFrom)
	c.optionalSum("waiver.rotatedTo", w.RotatedTo)
	return &trust.Waiver{
		Party: w.Party, Member: w.Member, Reason: w.Reason, By: w.WaivedBy,
		Rotation: trust.Rotation{From: pki.Fingerprint(w.RotatedFrom), To: pki.Fingerprint(w.RotatedTo)},
		Expires:  c.time("waiver.expires", w.Expires.Time, time.Second),
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

func (c *checker) optional(field string, t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return c.time(field, t.Time, time.Microsecond)
}

// roster reads the members that count. They are ordered and unique: a duplicate could claim that the first is gone. A
// node that was replaced under its name is another member, with another instance.
func (c *checker) roster(r *configv1alpha1.RecordedRoster) *trust.Roster {
	c.ordered("roster.signers", r.Signers, maxSigners, c.name)
	c.ordered("roster.leaves", r.Leaves, maxRoster, c.name)
	c.ordered("roster.populated", r.Populated, maxParties, func(field, s string) { c.required(field, s, maxPopulated) })
	out := &trust.Roster{
		Signers: r.Signers, Leaves: r.Leaves, Populated: r.Populated, Issued: r.Issued,
		MayHaveSigned: c.added("roster.mayHaveSigned", r.MayHaveSigned), NeverSigned: c.added("roster.neverSigned", r.NeverSigned),
	}
	if !c.bounded("roster.members", len(r.Members), maxRoster) {
		return out
	}
	for i := range r.Members {
		field := fmt.Sprintf("roster.members[%d]", i)
		out.Members = append(out.Members, c.rosterMember(field, &r.Members[i]))
		if i > 0 && compareMembers(r.Members[i-1], r.Members[i]) >= 0 {
			c.disordered(field)
		}
	}
	if pods := c.rosterPods(r.Pods); len(pods) > 0 {
		out.Members = append(out.Members, pods...)
		slices.SortFunc(out.Members, func(x, y trust.RosterMember) int {
			return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member), cmp.Compare(x.Instance, y.Instance))
		})
	}
	return out
}

// added reads fingerprints of CAs, in the order of their addition.
func (c *checker) added(field string, list []string) []pki.Fingerprint {
	if !c.bounded(field, len(list), trust.MaxUnpromoted) {
		return nil
	}
	var out []pki.Fingerprint
	for i, entry := range list {
		c.sum(fmt.Sprintf("%s[%d]", field, i), entry)
		out = append(out, pki.Fingerprint(entry))
	}
	return out
}

func (c *checker) rosterMember(field string, m *configv1alpha1.RosterMember) trust.RosterMember {
	out := trust.RosterMember{
		Party: m.Party, Member: m.Member, Instance: m.Instance, Kind: trust.EvidenceKind(m.Evidence),
		Verifies: m.Verifies, Presents: m.Presents, VerifiesNothing: m.VerifiesNothing, Started: m.Started, Absent: m.Absent,
	}
	c.name(field+".party", m.Party)
	c.name(field+".member", m.Member)
	c.text(field+".instance", m.Instance, maxName)
	c.kind(field+".evidence", out.Kind)
	if m.Grace != nil {
		out.Grace = m.Grace.Duration
	}
	if out.Grace < 0 {
		c.fail(field+".grace", "it is negative")
	}
	c.ordered(field+".verifies", m.Verifies, maxRoster, c.name)
	c.ordered(field+".presents", m.Presents, maxRoster, c.name)
	c.text(field+".absent", m.Absent, maxText)
	return out
}

func compareMembers(x, y configv1alpha1.RosterMember) int {
	return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member), cmp.Compare(x.Instance, y.Instance))
}

// evidence reads the processes of a member, each once. It sorts them: other writers may use another order.
func (c *checker) evidence(e *configv1alpha1.RecordedEvidence) *Evidence {
	c.name("evidence.party", e.Party)
	c.name("evidence.member", e.Member)
	out := &Evidence{Party: e.Party, Member: e.Member}
	if !c.bounded("evidence.processes", len(e.Processes), maxProcesses) {
		return out
	}
	seen := map[string]bool{}
	for i := range e.Processes {
		field := fmt.Sprintf("evidence.processes[%d]", i)
		out.Observations = append(out.Observations, c.process(field, &e.Processes[i]))
		if seen[e.Processes[i].Instance] {
			c.fail(field, "its instance is there twice")
		}
		seen[e.Processes[i].Instance] = true
	}
	slices.SortFunc(out.Observations, byInstance)
	return out
}

func (c *checker) process(field string, p *configv1alpha1.ProcessEvidence) trust.Observation {
	out := trust.Observation{
		Instance:        p.Instance,
		Kind:            trust.EvidenceKind(p.Kind),
		Address:         p.Address,
		Trusts:          sums[pki.Fingerprint](c, field+".trusts", p.Trusts),
		TrustedSubjects: sums[string](c, field+".trustedSubjects", p.TrustedSubjects),
		Presents:        sums[pki.Fingerprint](c, field+".presents", p.Presents),
		RecoveredUntil:  c.optional(field+".recoveredUntil", p.RecoveredUntil),
		ObservedAt:      c.time(field+".observedAt", p.ObservedAt.Time, time.Microsecond),
		Expires:         c.time(field+".expires", p.Expires.Time, time.Microsecond),
		StartedAt:       c.optional(field+".startedAt", p.StartedAt),
		Failure:         p.Failure,
		ReportedBy:      p.ReportedBy,
		ReportedByUID:   p.ReportedByUID,
	}
	c.name(field+".instance", p.Instance)
	c.kind(field+".kind", out.Kind)
	c.text(field+".address", p.Address, maxAddress)
	c.text(field+".failure", p.Failure, maxLongText)
	c.text(field+".reportedBy", p.ReportedBy, maxUser)
	c.text(field+".reportedByUID", p.ReportedByUID, maxUID)
	return out
}

func sums[S ~string](c *checker, field string, list []string) []S {
	c.ordered(field, list, MaxFingerprints, c.sum)
	var out []S
	for _, entry := range list {
		out = append(out, S(entry))
	}
	return out
}

func byInstance(x, y trust.Observation) int { return cmp.Compare(x.Instance, y.Instance) }
