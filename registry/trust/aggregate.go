// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Action kinds on aggregates.
const (
	// WriteAggregateSecret writes all pairs into the aggregate Secret, from live reads of the leaves.
	WriteAggregateSecret ActionKind = "WriteAggregateSecret"
	// WriteAggregateConfigMap writes all bundles into the aggregate ConfigMap, from live reads of the bundles. Unless
	// it is Irreversible, it keeps the anchors that are there.
	WriteAggregateConfigMap ActionKind = "WriteAggregateConfigMap"
)

// Aggregate is the state of a namespace's aggregate Secret and ConfigMap.
type Aggregate struct {
	// Configuration is the name of the RotationConfiguration that declares the aggregate.
	Configuration string

	Secret    Object
	ConfigMap Object
	// Leaves are the names of the leaves that belong in the Secret, ordered.
	Leaves []string
	// Pairs are the leaves in the Secret, by name. A pair whose key does not match its certificate is left out.
	Pairs map[string]pki.Fingerprint
	// Bundles are the keys of the ConfigMap and their source bundles, ordered by key.
	Bundles []AggregatedBundle
	// Anchors are those in the ConfigMap, by key.
	Anchors map[string][]pki.Fingerprint
	// Foreign are keys of the Secret or ConfigMap that do not belong there, such as those of a node that left.
	Foreign []string
}

// AggregatedBundle is one bundle inside the aggregate ConfigMap.
type AggregatedBundle struct {
	Key    string
	Bundle string
}

// AssessAggregate returns the actions that bring an aggregate up to date with its sources. Nothing is written before
// every source exists and is readable: processes keep what they have (NeverEmpty). Trust comes before leaves: while
// the ConfigMap lacks an anchor, the Secret is not written. It goes after them: while the Secret has a former pair, no
// anchor is removed from the ConfigMap, whatever the bundle of the pair's trust domain holds (AnchorInUse).
func AssessAggregate(a *Aggregate, leaves map[string]*Leaf, bundles map[string]*Bundle) ([]Action, []Blocker) {
	if p := cmp.Or(a.Secret.Problem, a.ConfigMap.Problem); p != nil {
		return nil, []Blocker{{Object: p.Object, Reason: ReasonObjectProblem, Message: p.Message}}
	}
	if blockers := a.missingBundles(bundles); len(blockers) > 0 {
		return nil, blockers
	}
	if a.lacksAnchors(bundles) {
		return a.write(a.writeConfigMap("its bundles have new anchors")), nil
	}
	if blockers := a.missingLeaves(leaves); len(blockers) > 0 {
		return nil, blockers
	}
	if a.pairsDiffer(leaves) {
		return a.write(Action{
			Kind: WriteAggregateSecret, ObjectKind: SecretKind, Object: a.Secret.Name,
			ResourceVersion: a.Secret.ResourceVersion, Reason: "its leaves have changed",
		}), nil
	}
	if a.bundlesDiffer(bundles) {
		remove := a.writeConfigMap("its bundles have changed")
		remove.Irreversible = true
		return a.write(remove), nil
	}
	return nil, nil
}

func (a *Aggregate) writeConfigMap(reason string) Action {
	return Action{
		Kind: WriteAggregateConfigMap, ObjectKind: ConfigMapKind, Object: a.ConfigMap.Name,
		ResourceVersion: a.ConfigMap.ResourceVersion, Reason: reason,
	}
}

func (a *Aggregate) write(action Action) []Action {
	return consenting([]Action{action}, a.Configuration)
}

func (a *Aggregate) missingBundles(bundles map[string]*Bundle) []Blocker {
	var out []Blocker
	for _, ab := range a.Bundles {
		if b := bundles[ab.Bundle]; b == nil || b.Problem != nil || len(b.Anchors) == 0 {
			out = append(out, Blocker{
				Object: configMap(ab.Bundle), Reason: ReasonObjectProblem,
				Message: "the aggregate waits for this bundle to exist and be readable",
			})
		}
	}
	return out
}

func (a *Aggregate) missingLeaves(leaves map[string]*Leaf) []Blocker {
	var out []Blocker
	for _, name := range a.Leaves {
		if l := leaves[name]; l == nil || l.Problem != nil || l.Certificate == nil {
			out = append(out, Blocker{
				Object: secret(name), Reason: ReasonObjectProblem,
				Message: "the aggregate waits for this leaf to exist and be readable",
			})
		}
	}
	return out
}

// lacksAnchors reports whether the ConfigMap lacks an anchor of a bundle.
func (a *Aggregate) lacksAnchors(bundles map[string]*Bundle) bool {
	return !a.ConfigMap.Present || slices.ContainsFunc(a.Bundles, func(ab AggregatedBundle) bool {
		return slices.ContainsFunc(bundles[ab.Bundle].Anchors, func(ca *pki.Certificate) bool {
			return !slices.Contains(a.Anchors[ab.Key], ca.Fingerprint)
		})
	})
}

func (a *Aggregate) bundlesDiffer(bundles map[string]*Bundle) bool {
	if len(a.Anchors) != len(a.Bundles) {
		return true
	}
	for _, ab := range a.Bundles {
		want := make([]pki.Fingerprint, 0, len(bundles[ab.Bundle].Anchors))
		for _, ca := range bundles[ab.Bundle].Anchors {
			want = append(want, ca.Fingerprint)
		}
		if !slices.Equal(a.Anchors[ab.Key], want) {
			return true
		}
	}
	return false
}

func (a *Aggregate) pairsDiffer(leaves map[string]*Leaf) bool {
	if !a.Secret.Present || len(a.Foreign) > 0 || len(a.Pairs) != len(a.Leaves) {
		return true
	}
	for _, name := range a.Leaves {
		if a.Pairs[name] != leaves[name].Certificate.Fingerprint {
			return true
		}
	}
	return false
}

// JudgeAggregate returns the invariants that an edit of an aggregate breaks. The aggregate counts as in flight while
// any of the domains is that it collects from.
func JudgeAggregate(before, after *Aggregate, domains []*Domain, now time.Time) []Violation {
	j := &judge{stage: Stable}
	for _, d := range domains {
		if !j.inFlight() && before.Collects(d) {
			j.stage = decide(d, now).stage
		}
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
			if j.inFlight() {
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
