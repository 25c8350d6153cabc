// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestRosterDecodedByAFormerDefinition: while a CustomResourceDefinition is replaced, an API server may send a
// stored roster without one of its fields, and never again at this version. The controller rewrites the roster
// once.
func TestRosterDecodedByAFormerDefinition(t *testing.T) {
	w := newWorld(t, webConfig)
	pruned := ""
	w.shows = func(s *inventory.Sources) *inventory.Sources {
		r := s.Records[record.RosterName("web")]
		if r == nil || pruned != "" && pruned != r.ResourceVersion {
			return s
		}
		pruned = r.ResourceVersion
		shown := w.records(configv1alpha1.RecordRoster)[r.Name]
		for i := range shown.Spec.Roster.Members {
			shown.Spec.Roster.Members[i].Started = false
		}
		return s.WithRecord(r.Name, shown)
	}
	w.settle(w.controller())
	if d := w.domain(); d.Signer.Active == nil || trust.Assess(d, w.clock.Now()).Stage != trust.Stable {
		t.Errorf("no CA was made, or it does not come to rest: %+v", d.Signer)
	}
	roster := w.records(configv1alpha1.RecordRoster)[record.RosterName("web")]
	if pruned == "" || roster.Annotations[annotationRewritten] == "" || roster.ResourceVersion == pruned {
		t.Errorf("the roster was not rewritten: %+v, shown without a field in version %q", roster.ObjectMeta, pruned)
	}
}
