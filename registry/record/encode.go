// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// OfRequest returns the record of a request. The API server assigns its UID, which is the identity of the request.
func OfRequest(namespace, domain string, r *trust.Request, by string) (*configv1alpha1.RotationRecord, error) {
	return seal(namespace, RequestName(r.Kind, r.Secret), &configv1alpha1.RotationRecordSpec{
		TrustDomain: domain,
		Kind:        configv1alpha1.RecordRequest,
		Subject:     "Secret/" + r.Secret,
		Request: &configv1alpha1.RecordedRequest{
			Kind:        configv1alpha1.RequestKind(r.Kind),
			SecretName:  r.Secret,
			Reason:      r.Reason,
			Compromised: r.Compromised, Newest: string(r.Newest),
			RequestedBy: text(by, maxUser), Certificates: string(pki.EncodeCertificates(r.Certificates...)),
		},
	})
}

// OfRoster returns the record of a domain's roster. It carries the resource version, so that a write conflicts with a
// newer roster.
func OfRoster(namespace, domain string, r *trust.Roster) (*configv1alpha1.RotationRecord, error) {
	roster := &configv1alpha1.RecordedRoster{
		Signers: canonical(r.Signers), Leaves: canonical(r.Leaves), Populated: canonical(r.Populated), Issued: r.Issued,
		MayHaveSigned: plain(r.MayHaveSigned), NeverSigned: plain(r.NeverSigned),
	}
	for i := range r.Members {
		if !r.Members[i].Pod {
			roster.Members = append(roster.Members, rosterMember(&r.Members[i]))
		}
	}
	pods, err := rosterPods(r.Members)
	if err != nil {
		return nil, fmt.Errorf("roster of trust domain %s: %w", domain, err)
	}
	roster.Pods = pods
	slices.SortStableFunc(roster.Members, compareMembers)
	out, err := seal(namespace, RosterName(domain), &configv1alpha1.RotationRecordSpec{
		TrustDomain: domain, Kind: configv1alpha1.RecordRoster, Subject: domain, Roster: roster,
	})
	if err != nil {
		return nil, err
	}
	out.ResourceVersion = r.ResourceVersion
	return out, nil
}

func rosterMember(m *trust.RosterMember) configv1alpha1.RosterMember {
	out := configv1alpha1.RosterMember{
		Party:           m.Party,
		Member:          m.Member,
		Instance:        m.Instance,
		Evidence:        configv1alpha1.EvidenceKind(m.Kind),
		Verifies:        canonical(m.Verifies),
		Presents:        canonical(m.Presents),
		VerifiesNothing: m.VerifiesNothing,
		Started:         m.Started,
		Absent:          text(m.Absent, maxText),
	}
	if m.Grace != 0 {
		out.Grace = &metav1.Duration{Duration: m.Grace}
	}
	return out
}

// OfWaiver returns the record of a waiver.
func OfWaiver(namespace, domain string, w *trust.Waiver) (*configv1alpha1.RotationRecord, error) {
	return seal(namespace, WaiverName(domain, w.Party, w.Member), &configv1alpha1.RotationRecordSpec{
		TrustDomain: domain,
		Kind:        configv1alpha1.RecordWaiver,
		Subject:     w.Party + "/" + w.Member,
		Waiver: &configv1alpha1.RecordedWaiver{
			Party: w.Party, Member: w.Member, Reason: w.Reason, WaivedBy: text(w.By, maxUser),
			RotatedFrom: string(w.Rotation.From), RotatedTo: string(w.Rotation.To), Expires: metav1.NewTime(w.Expires.UTC().Truncate(time.Second)),
		},
	})
}

// OfRefusal returns the record of a refused write. The domain is "" for an object that spans the domains of its
// configuration, such as an aggregate.
func OfRefusal(namespace, domain string, r *trust.RefusedWrite) (*configv1alpha1.RotationRecord, error) {
	return seal(namespace, RefusalName(r.Object), &configv1alpha1.RotationRecordSpec{
		TrustDomain: domain,
		Kind:        configv1alpha1.RecordRefusal,
		Subject:     r.Object,
		Refusal: &configv1alpha1.RecordedRefusal{
			Object: r.Object, Verb: r.Verb, Answer: text(r.Answer, maxLongText),
			Since: metav1.NewTime(r.Since.UTC().Truncate(time.Second)),
		},
	})
}

// OfClock returns the record of the clock skew of the controller, and of when the controller last checked it, zero
// for never.
func OfClock(namespace, domain string, skew time.Duration, lookedAt time.Time) (*configv1alpha1.RotationRecord, error) {
	recorded := &configv1alpha1.RecordedClock{SkewSeconds: min(max(int64(skew.Round(time.Second)/time.Second), -maxSkewSeconds), maxSkewSeconds)}
	if !lookedAt.IsZero() {
		recorded.LookedAt = &metav1.Time{Time: lookedAt.UTC().Truncate(time.Second)}
	}
	return seal(namespace, ClockName(domain), &configv1alpha1.RotationRecordSpec{
		TrustDomain: domain, Kind: configv1alpha1.RecordClock, Subject: domain, Clock: recorded,
	})
}

// OfEvidence returns the record of a member with the observations of all its live processes.
//
// What a process presents counts against it, so too many of these fingerprints are an error, and so are too many
// processes. What it has loaded only counts for it, so the first MaxFingerprints suffice.
func OfEvidence(namespace, domain, party, member string, observations []trust.Observation) (*configv1alpha1.RotationRecord, error) {
	recorded := &configv1alpha1.RecordedEvidence{Party: party, Member: member}
	for _, o := range slices.SortedStableFunc(slices.Values(observations), byInstance) {
		recorded.Processes = append(recorded.Processes, process(&o))
	}
	return seal(namespace, EvidenceName(domain, party, member), &configv1alpha1.RotationRecordSpec{
		TrustDomain: domain, Kind: configv1alpha1.RecordEvidence, Subject: party + "/" + member, Evidence: recorded,
	})
}

func process(o *trust.Observation) configv1alpha1.ProcessEvidence {
	return configv1alpha1.ProcessEvidence{
		Instance:        o.Instance,
		Kind:            configv1alpha1.EvidenceKind(o.Kind),
		Address:         o.Address,
		Trusts:          bounded(textsOf(o.Trusts)),
		TrustedSubjects: bounded(textsOf(o.TrustedSubjects)),
		Presents:        textsOf(o.Presents),
		RecoveredUntil:  optionalTime(o.RecoveredUntil),
		ObservedAt:      microTime(o.ObservedAt),
		Expires:         microTime(o.Expires),
		StartedAt:       optionalTime(o.StartedAt),
		Failure:         text(o.Failure, maxLongText),
		ReportedBy:      text(o.ReportedBy, maxUser),
		ReportedByUID:   text(o.ReportedByUID, maxUID),
	}
}

// seal names and labels a record, and refuses one that Decode would refuse.
//
// It omits the label if the domain's name is no label value: the spec names the domain anyway.
func seal(namespace, name string, spec *configv1alpha1.RotationRecordSpec) (*configv1alpha1.RotationRecord, error) {
	out := &configv1alpha1.RotationRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       *spec,
	}
	if spec.TrustDomain != "" && len(validation.IsValidLabelValue(spec.TrustDomain)) == 0 {
		out.Labels = map[string]string{trust.LabelTrustDomain: spec.TrustDomain}
	}
	if _, err := Decode(out); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnrecordable, err)
	}
	return out, nil
}
