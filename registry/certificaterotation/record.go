// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/trust"
)

// record is a report that is to be kept as the evidence of one member.
type record struct {
	target        *target
	party, member string
	report        *trust.Observation
	dryRun        []string
}

// record writes the evidence record of a member if it says something new, and waits until the inventory has seen it.
func (a *Actions) record(ctx context.Context, r record) error {
	var version string
	err := retry.OnError(retry.DefaultBackoff, isRace, func() (err error) {
		version, err = a.writeRecord(ctx, r)
		return err
	})
	if err != nil {
		return recordError(r.target.name, err)
	}
	if version == "" || len(r.dryRun) > 0 {
		return nil
	}
	name := evidence.RecordName(r.target.domain.Name, r.party, r.member)
	a.await(ctx, r.target.namespace, func() bool { return a.recordReached(r.target.namespace, name, version) })
	return nil
}

// isRace says that somebody else wrote the record at the same time.
func isRace(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// recordError tells what the model refuses from what the API server does.
func recordError(name string, err error) error {
	if _, ok := errors.AsType[*trust.Refusal](err); ok {
		return refused(name, err)
	}
	return writeError(name, err)
}

// writeRecord writes once and returns the version of the record, "" if it says the same already.
func (a *Actions) writeRecord(ctx context.Context, r record) (string, error) {
	domain := r.target.domain
	configMaps := a.client.CoreV1().ConfigMaps(r.target.namespace)
	name := evidence.RecordName(domain.Name, r.party, r.member)
	data, labels := evidence.Encode(domain.Name, r.party, r.member, r.report)

	live, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: data}
		made, err = configMaps.Create(ctx, made, metav1.CreateOptions{FieldManager: fieldManager, DryRun: r.dryRun})
		return versionOf(made, err)
	}
	if err != nil {
		return "", err
	}
	same, err := judgeLive(r, live)
	if err != nil || same {
		return "", err
	}
	live = live.DeepCopy()
	live.Data = data
	if live.Labels == nil {
		live.Labels = map[string]string{}
	}
	maps.Copy(live.Labels, labels)
	live, err = configMaps.Update(ctx, live, metav1.UpdateOptions{FieldManager: fieldManager, DryRun: r.dryRun})
	return versionOf(live, err)
}

func versionOf(configMap *corev1.ConfigMap, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return configMap.ResourceVersion, nil
}

// judgeLive compares a report with the record as it is in the cluster, which may be ahead of what the inventory has
// seen: a report of an older process than that of the record is refused here too. A record that cannot be read is
// replaced.
func judgeLive(r record, live *corev1.ConfigMap) (same bool, err error) {
	recorded, readable := decode(live)
	if !readable {
		return false, nil
	}
	domain := withObservation(r.target.domain, r.party, r.member, recorded)
	if err := trust.CheckAcknowledgement(domain, r.party, r.member, r.report); err != nil {
		return false, err
	}
	return live.Labels[trust.LabelEvidence] != "" && evidence.Same(recorded, r.report), nil
}

func decode(live *corev1.ConfigMap) (*trust.Observation, bool) {
	_, _, _, recorded, err := evidence.Decode(live.Data)
	return recorded, err == nil
}

// withObservation returns the domain as it would be with another observation of one member.
func withObservation(domain *trust.Domain, party, member string, o *trust.Observation) *trust.Domain {
	out := *domain
	out.Parties = slices.Clone(domain.Parties)
	for i := range out.Parties {
		if out.Parties[i].Name != party {
			continue
		}
		out.Parties[i].Members = slices.Clone(out.Parties[i].Members)
		for j := range out.Parties[i].Members {
			if out.Parties[i].Members[j].Name == member {
				out.Parties[i].Members[j].Observation = o
			}
		}
	}
	return &out
}

// recordReached says whether the inventory knows a record at a version or a later one.
func (a *Actions) recordReached(namespace, name, version string) bool {
	sources := a.inventory.Sources(namespace)
	return sources != nil && sources.ConfigMaps[name] != nil && reached(sources.ConfigMaps[name].ResourceVersion, version)
}
