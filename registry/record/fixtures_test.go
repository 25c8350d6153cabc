// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"fmt"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

const (
	testNamespace = "pki"
	testDomain    = "etcd"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// lookedAt is the time of the last look in the clock record.
var lookedAt = noon.Add(-time.Hour)

// sum returns a well-formed fingerprint for a number.
func sum(n int) pki.Fingerprint {
	return pki.Fingerprint(fmt.Sprintf("%064x", n))
}

func sampleRequest() *trust.Request {
	return &trust.Request{
		ID: "uid-1", Record: "rotate.etcd-signer", Kind: trust.RequestRotate, Secret: "etcd-signer",
		Reason: "the key was on a laptop", Compromised: true, Newest: sum(1),
	}
}

func sampleRoster() *trust.Roster {
	return &trust.Roster{
		ResourceVersion: "7",
		Signers:         []string{"etcd-signer", "former-signer"},
		Members: []trust.RosterMember{
			{Party: "clients", Member: "a", Kind: trust.GracePeriod, Grace: time.Minute, Verifies: []string{"server"}, VerifiesNothing: true},
			{Party: "etcd", Member: "node-1", Instance: "uid-of-the-node", Kind: trust.TLSProbe,
				Verifies: []string{"client"}, Presents: []string{"peer", "server"}, Started: true, Absent: "etcd lists it no more"},
			{Party: "etcd", Member: "node-1", Instance: "uid-of-the-node-in-its-place", Kind: trust.TLSProbe,
				Verifies: []string{"client"}, Presents: []string{"peer", "server"}},
			{Party: "web", Member: "a", Instance: "uid-3", Pod: true, Kind: trust.Acknowledgement, Verifies: []string{"server"}, Started: true},
			{Party: "web", Member: "b", Kind: trust.Acknowledgement, Verifies: []string{"server"}},
			{Party: "web", Member: "web-0", Instance: "uid-1", Pod: true, Kind: trust.Acknowledgement, Verifies: []string{"server"}, Started: true},
			{Party: "web", Member: "web-0", Instance: "uid-2", Pod: true, Kind: trust.Acknowledgement, Verifies: []string{"server"}},
			{Party: "web", Member: "web-1", Instance: "uid-4", Pod: true, Kind: trust.GracePeriod, Grace: time.Minute, VerifiesNothing: true, Presents: []string{"server"}},
		},
		Leaves:    []string{"client", "peer", "server"},
		Populated: []string{"web/0123abcd"},
		Issued:    true,

		MayHaveSigned: []pki.Fingerprint{sum(9), sum(1)}, NeverSigned: []pki.Fingerprint{sum(3)},
	}
}

func sampleWaiver() *trust.Waiver {
	return &trust.Waiver{Party: "clients", Member: "a", Reason: "it is switched off", By: "ada", Expires: noon.Add(time.Hour), Rotation: trust.Rotation{From: sum(1), To: sum(2)}}
}

func sampleRefusal() *trust.RefusedWrite {
	return &trust.RefusedWrite{Object: "ConfigMap/etcd-ca-bundle", Verb: "update", Answer: "field is immutable when `immutable` is set", Since: noon}
}

func sampleObservation() trust.Observation {
	return trust.Observation{
		Instance:        "pod-1",
		Kind:            trust.TLSProbe,
		Address:         "etcd.example.com:2379",
		Trusts:          []pki.Fingerprint{sum(1), sum(2)},
		TrustedSubjects: []string{string(sum(3))},
		Presents:        []pki.Fingerprint{sum(4)},
		RecoveredUntil:  noon.AddDate(1, 0, 0),
		ObservedAt:      noon.Add(5 * time.Microsecond),
		Expires:         noon.Add(5 * time.Minute),
		StartedAt:       noon.Add(-time.Hour),
		Failure:         "dial tcp 10.0.0.1:2379: connection refused",
		ReportedBy:      "system:serviceaccount:web:client",
		ReportedByUID:   "uid-1",
	}
}

// second is another process of the same member, with few fields set.
func second() trust.Observation {
	return trust.Observation{Instance: "pod-2", Kind: trust.TLSProbe, ObservedAt: noon, Expires: noon.Add(time.Minute)}
}

// object returns a record of the kind as the API server returns it.
func object(kind configv1alpha1.RecordKind) *configv1alpha1.RotationRecord {
	var (
		out *configv1alpha1.RotationRecord
		err error
	)
	switch kind {
	case configv1alpha1.RecordRequest:
		out, err = record.OfRequest(testNamespace, testDomain, sampleRequest(), "ada")
	case configv1alpha1.RecordRoster:
		out, err = record.OfRoster(testNamespace, testDomain, sampleRoster())
	case configv1alpha1.RecordWaiver:
		out, err = record.OfWaiver(testNamespace, testDomain, sampleWaiver())
	case configv1alpha1.RecordEvidence:
		out, err = record.OfEvidence(testNamespace, testDomain, "etcd", "node-1", []trust.Observation{second(), sampleObservation()})
	case configv1alpha1.RecordRefusal:
		out, err = record.OfRefusal(testNamespace, testDomain, sampleRefusal())
	case configv1alpha1.RecordClock:
		out, err = record.OfClock(testNamespace, testDomain, -90*time.Second, lookedAt)
	}
	if err != nil {
		panic(err)
	}
	out.UID, out.ResourceVersion = "uid-1", "7"
	return out
}
