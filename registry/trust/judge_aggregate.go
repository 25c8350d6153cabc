// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

// JudgeAggregate says which invariants an edit of an aggregate breaks. inFlight says whether a rotation of any trust
// domain that it collects is under way.
func JudgeAggregate(before, after *Aggregate, inFlight bool) []Violation {
	j := &judge{stage: Stable}
	if inFlight {
		j.stage = Distributing
	}
	for _, side := range []struct {
		object        string
		before, after *Object
		emptied       bool
	}{
		{configMap(after.ConfigMap.Name), &before.ConfigMap, &after.ConfigMap, before.anchors() > 0 && after.anchors() == 0},
		{secret(after.Secret.Name), &before.Secret, &after.Secret, len(before.Pairs) > 0 && len(after.Pairs) == 0},
	} {
		if !side.before.Present || side.before.Unadopted() {
			continue
		}
		if gone := !side.after.Present || Released(side.before, side.after); gone {
			if inFlight {
				j.refuse(NeverEmpty, side.object, nil, "the aggregate would be gone while nodes roll out from it",
					"wait for the stage Stable; a stable aggregate may be deleted and is rebuilt")
			}
			continue
		}
		if side.emptied {
			j.refuse(NeverEmpty, side.object, nil, "the aggregate would be empty",
				"edit the trust domain's own Secrets and ConfigMaps; the aggregate follows them")
		}
		j.judgeAnnotations(side.object, side.before, side.after, earlier)
	}
	return j.found
}

func (a *Aggregate) anchors() int {
	n := 0
	for _, anchors := range a.Anchors {
		n += len(anchors)
	}
	return n
}
