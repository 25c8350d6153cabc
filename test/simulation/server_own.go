// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
)

// configured returns the facts with another configuration.
func configured(from *inventory.Sources, cfg *configv1alpha1.RotationConfiguration) *inventory.Sources {
	out := *from
	out.Configurations = map[string]*inventory.Configuration{cfg.Name: inventory.ParseConfiguration(cfg)}
	return &out
}

// putConfiguration stores the configuration of the namespace.
func (s *server) putConfiguration(cfg *configv1alpha1.RotationConfiguration, now time.Time) {
	stored := cfg.DeepCopy()
	s.stamp(&stored.ObjectMeta, now)
	s.configuration = stored
	s.became(configured(s.latest(), stored))
}

// withRecord is withSecret for a record.
func withRecord(from *inventory.Sources, name string, r *configv1alpha1.RotationRecord) *inventory.Sources {
	out := *from
	out.Records = maps.Clone(from.Records)
	if out.Records == nil {
		out.Records = map[string]*inventory.Record{}
	}
	delete(out.Records, name)
	if r != nil {
		out.Records[name] = inventory.ParseRecord(r)
	}
	return &out
}

func (s *server) createRecord(r *configv1alpha1.RotationRecord, now time.Time) (*configv1alpha1.RotationRecord, error) {
	if s.records[r.Name] != nil {
		return nil, apierrors.NewAlreadyExists(recordResource, r.Name)
	}
	return s.putRecord(r, now), nil
}

func (s *server) updateRecord(r *configv1alpha1.RotationRecord, now time.Time) (*configv1alpha1.RotationRecord, error) {
	live := s.records[r.Name]
	if live == nil {
		return nil, apierrors.NewNotFound(recordResource, r.Name)
	}
	if live.ResourceVersion != r.ResourceVersion {
		return nil, changed(recordResource, r.Name, live.ResourceVersion, r.ResourceVersion)
	}
	return s.putRecord(r, now), nil
}

// putRecord stores a record without a precondition.
func (s *server) putRecord(r *configv1alpha1.RotationRecord, now time.Time) *configv1alpha1.RotationRecord {
	stored := *r
	if live := s.records[r.Name]; live != nil {
		stored.UID, stored.CreationTimestamp = live.UID, live.CreationTimestamp
	} else {
		stored.UID = ""
	}
	s.stamp(&stored.ObjectMeta, now)
	s.records[stored.Name] = &stored
	s.became(withRecord(s.latest(), stored.Name, &stored))
	return &stored
}

// removeRecord deletes a record if it has that UID.
func (s *server) removeRecord(name string, uid *types.UID) error {
	live := s.records[name]
	if live == nil {
		return apierrors.NewNotFound(recordResource, name)
	}
	if uid != nil && *uid != live.UID {
		return changed(recordResource, name, string(live.UID), string(*uid))
	}
	s.deleteRecord(name)
	return nil
}

func (s *server) deleteRecord(name string) {
	delete(s.records, name)
	s.version++
	s.became(withRecord(s.latest(), name, nil))
}
