// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/trust"
)

// record writes an observation, if it says anything new.
func (c *Collector) record(ctx context.Context, s *subject, o *trust.Observation) error {
	if !news(s.member, s.member.Observation, o) {
		return nil
	}
	name := evidence.RecordName(s.domain, s.party, s.target.member)
	records := c.client.CoreV1().ConfigMaps(s.namespace)
	live, err := records.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		live = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
		s.encode(live, o)
		_, err = records.Create(ctx, live, metav1.CreateOptions{FieldManager: FieldManager})
	case err != nil:
	case !news(s.member, recorded(live), o):
		return nil
	default:
		s.encode(live, o)
		_, err = records.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	if err != nil {
		return fmt.Errorf("write evidence record %s/%s: %w", s.namespace, name, err)
	}
	klog.FromContext(ctx).V(2).Info("Recorded what a member was seen to do", "record", klog.KRef(s.namespace, name),
		"failure", o.Failure)
	return nil
}

// news says whether an observation is worth a write: it says something else than the one before, or the one before is
// from an earlier life of the member.
func news(m *trust.Member, before, now *trust.Observation) bool {
	return !evidence.Same(before, now) || before.ObservedAt.Before(m.RestartedAt)
}

// recorded reads a record, nil if it cannot be read: then it is replaced.
func recorded(configMap *corev1.ConfigMap) *trust.Observation {
	_, _, _, o, err := evidence.Decode(configMap.Data)
	if err != nil {
		return nil
	}
	return o
}

// encode fills a record. Its data is owned as a whole.
func (s *subject) encode(configMap *corev1.ConfigMap, o *trust.Observation) {
	data, labels := evidence.Encode(s.domain, s.party, s.target.member, o)
	configMap.Data = data
	if configMap.Labels == nil {
		configMap.Labels = map[string]string{}
	}
	maps.Copy(configMap.Labels, labels)
}
