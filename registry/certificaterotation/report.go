// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// report is what one process of a member reports about itself.
type report struct {
	target        *target
	party, member string
	// said is the report as sent; recorded has the lease that begins now.
	said, recorded *trust.Observation
	dryRun         []string
}

// record writes the report of a process into the record of its member, beside those of other processes. It waits
// until the inventory has observed it, and returns when the report expires.
func (a *Actions) record(ctx context.Context, r *report) (time.Time, error) {
	var (
		version string
		expires time.Time
	)
	err := retry.OnError(retry.DefaultBackoff, isRace, func() (err error) {
		version, expires, err = a.writeReport(ctx, r)
		return err
	})
	if err != nil {
		return time.Time{}, writeError(r.target.name, err)
	}
	if version != "" && len(r.dryRun) == 0 {
		a.awaitRecord(ctx, r.target.namespace, record.EvidenceName(r.target.domain.Name, r.party, r.member), version)
	}
	return expires, nil
}

// writeReport makes one attempt. It returns the version of the record, "" if it wrote nothing because an earlier
// report suffices.
func (a *Actions) writeReport(ctx context.Context, r *report) (version string, expires time.Time, err error) {
	domain, now := r.target.domain, a.clock.Now()
	records := a.client.ConfigV1alpha1().RotationRecords(r.target.namespace)
	live, err := records.Get(ctx, record.EvidenceName(domain.Name, r.party, r.member), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", time.Time{}, err
	}
	exists := err == nil
	var known []trust.Observation
	if exists {
		known = observationsOf(live)
	}
	// The record may be ahead of the inventory, so the report is also checked against it.
	if err := checkReport(withObservations(domain, r.party, r.member, known), r, now); err != nil {
		return "", time.Time{}, err
	}
	inFlight := func() bool { return trust.Assess(domain, now).InFlight() }
	if former := record.Standing(known, r.recorded, now, inFlight); former != nil && !trust.BeforeRestart(domain, r.party, r.member, former) {
		return "", former.Expires, nil
	}
	wanted, err := record.OfEvidence(r.target.namespace, domain.Name, r.party, r.member, record.Replaced(known, r.recorded, now))
	if err != nil {
		return "", time.Time{}, err
	}
	if exists {
		wanted.ResourceVersion = live.ResourceVersion
		version, err = versionOf(records.Update(ctx, wanted, record.UpdateOptions(fieldManager, r.dryRun)))
	} else {
		version, err = versionOf(records.Create(ctx, wanted, record.CreateOptions(fieldManager, r.dryRun)))
	}
	return version, r.recorded.Expires, err
}

// observationsOf returns the recorded observations of each process. An unreadable record has none and is replaced.
func observationsOf(live *configv1alpha1.RotationRecord) []trust.Observation {
	said, err := record.Decode(live)
	if err != nil || said.Evidence == nil {
		return nil
	}
	return said.Evidence.Observations
}

func checkReport(domain *trust.Domain, r *report, now time.Time) error {
	return trust.CheckAcknowledgement(domain, r.party, r.member, r.said, now)
}

// withObservations returns a copy of the domain with other observations of one member, in the configured parties and
// in the roster.
func withObservations(domain *trust.Domain, party, member string, observations []trust.Observation) *trust.Domain {
	out := *domain
	out.Parties = slices.Clone(domain.Parties)
	for i := range out.Parties {
		if out.Parties[i].Name != party {
			continue
		}
		out.Parties[i].Members = slices.Clone(out.Parties[i].Members)
		for j := range out.Parties[i].Members {
			if out.Parties[i].Members[j].Name == member {
				out.Parties[i].Members[j].Observations = observations
			}
		}
	}
	if domain.Roster != nil {
		roster := *domain.Roster
		roster.Members = slices.Clone(roster.Members)
		for i := range roster.Members {
			if roster.Members[i].Party == party && roster.Members[i].Member == member {
				roster.Members[i].Observations = observations
			}
		}
		out.Roster = &roster
	}
	return &out
}

// leaseOf returns how long a report of a party counts. A party that only the roster names has the default.
func leaseOf(domain *trust.Domain, party string) time.Duration {
	for i := range domain.Parties {
		if p := &domain.Parties[i]; p.Name == party && p.Lease > 0 {
			return p.Lease
		}
	}
	return configv1alpha1.DefaultAcknowledgementLease
}
