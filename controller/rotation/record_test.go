// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"maps"
	"slices"
	"testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestRosterDecodedByAFormerDefinition: while a definition is replaced, an API server sends a roster without a field that the stored one
// has, in its present version, and does not send it again. The controller has it sent again, once.
func TestRosterDecodedByAFormerDefinition(t *testing.T) {
	w := newWorld(t, webConfig)
	pruned := ""
	w.shows = func(s *inventory.Sources) *inventory.Sources {
		r := s.Records[record.RosterName("web")]
		if r == nil || pruned != "" && pruned != r.ResourceVersion {
			return s
		}
		pruned = r.ResourceVersion
		shown, said, roster := *r, *r.Said, *r.Said.Roster
		roster.Members = slices.Clone(roster.Members)
		for i := range roster.Members {
			roster.Members[i].Started = false
		}
		said.Roster, shown.Said = &roster, &said
		out := *s
		out.Records = maps.Clone(s.Records)
		out.Records[record.RosterName("web")] = &shown
		return &out
	}
	w.settle(w.controller())
	if stage := trust.Assess(w.domain(), w.clock.Now()).Stage; stage != trust.Stable {
		t.Errorf("the domain is in the stage %s", stage)
	}
	roster := w.records(configv1alpha1.RecordRoster)[record.RosterName("web")]
	if pruned == "" || roster.Annotations[annotationRewritten] == "" || roster.ResourceVersion == pruned {
		t.Errorf("the roster was not rewritten: %+v, shown without a field in version %q", roster.ObjectMeta, pruned)
	}
}
