// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// lease is how long an observation counts.
const lease = 5 * time.Minute

type recorded struct{ observations []trust.Observation }

// record writes an observation if it is new, or if its lease needs renewal. The observation was compared with the
// subject. If the record differs from the subject by now, record returns it and writes nothing.
func (c *Collector) record(ctx context.Context, s *subject, seen []trust.Observation, renew bool) (*recorded, error) {
	if !c.worthWriting(s, seen, renew) {
		return nil, nil
	}
	next, err := record.OfEvidence(s.namespace, s.domain, s.party, s.target.member, seen)
	if err != nil {
		return nil, fmt.Errorf("encode evidence of member %s: %w", trust.MemberName(s.party, s.target.member), err)
	}
	records := c.records.RotationRecords(s.namespace)
	live, err := records.Get(ctx, next.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if len(s.member.Observations) > 0 {
			return &recorded{}, nil
		}
		_, err = records.Create(ctx, next, record.CreateOptions(FieldManager, nil))
	case err != nil:
	default:
		if known := observationsOf(live); !sameProcesses(known, s.member.Observations) {
			return &recorded{observations: known}, nil
		}
		next.ResourceVersion, next.UID = live.ResourceVersion, live.UID
		_, err = records.Update(ctx, next, record.UpdateOptions(FieldManager, nil))
	}
	if err != nil {
		return nil, fmt.Errorf("write evidence record %s/%s: %w", s.namespace, next.Name, record.Explain(err))
	}
	c.rounds.wrote(s.target, seen)
	klog.FromContext(ctx).V(2).Info("Recorded what a member was seen to do", "record", klog.KRef(s.namespace, next.Name))
	return nil, nil
}

// worthWriting reports whether the observation differs from the record, the record is about an earlier process of the
// member, or its lease needs renewal.
func (c *Collector) worthWriting(s *subject, seen []trust.Observation, renew bool) bool {
	if !sameProcesses(s.member.Observations, seen) {
		return true
	}
	now := c.clock.Now()
	for i := range seen {
		o := &s.member.Observations[i]
		if !s.member.Runs(o) || (renew && record.RenewalDue(o, now) && (seen[i].Expires.After(o.Expires) || o.ObservedAhead(now))) {
			return true
		}
	}
	return false
}

// sameProcesses reports whether two lists, each sorted by instance, are equal apart from times.
func sameProcesses(x, y []trust.Observation) bool {
	return slices.EqualFunc(x, y, func(a, b trust.Observation) bool { return record.Same(&a, &b) })
}

// observationsOf decodes a record. It is nil for an unreadable one, which is then replaced.
func observationsOf(live *configv1alpha1.RotationRecord) []trust.Observation {
	decoded, err := record.Decode(live)
	if err != nil {
		return nil
	}
	return decoded.Evidence.Observations
}
