// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// readTimeout bounds all reads of one observation.
const readTimeout = 30 * time.Second

// placementText describes what the member is, apart from what it runs.
func (s *subject) placementText(n *inventory.Namespace) string {
	p := s.placement(n)
	if p == nil {
		return "no rollout"
	}
	uid := ""
	for _, node := range p.rollout.Nodes {
		if node.Name == s.target.member {
			uid = string(node.UID)
		}
	}
	return fmt.Sprint(p.rollout.Config.Name, p.configMap, p.bundleKey, p.secret, uid, len(s.member.Observations) > 0, s.member.Holds)
}

const noPod = "no pod"

// placement is what delivers a domain's trust to a node.
type placement struct {
	rollout *inventory.Rollout
	// configMap has the domain's bundle under bundleKey, and secret its leaves. The names have no revision number.
	configMap, bundleKey, secret string
}

// placement finds the rollout whose aggregate has the domain's bundle and whose revisions contain the aggregate. It
// is nil if there is none.
func (s *subject) placement(n *inventory.Namespace) *placement {
	if n == nil {
		return nil
	}
	for _, r := range n.Rollouts {
		if r.Aggregate == nil || !slices.Contains(r.Config.ConfigMapNames, r.Aggregate.ConfigMap.Name) {
			continue
		}
		for _, b := range r.Aggregate.Bundles {
			if b.Bundle == s.d.Bundle.Name {
				return &placement{
					rollout: r, configMap: r.Aggregate.ConfigMap.Name, bundleKey: b.Key, secret: r.Aggregate.Secret.Name,
				}
			}
		}
	}
	return nil
}

var placedObserver = observer{kind: trust.StaticPodRevision, has: anyMember, observe: (*Collector).lookPlaced}

// lookPlaced observes the static pod of a node: the only process of the member. It fails only if the API server
// cannot be asked.
func (c *Collector) lookPlaced(ctx context.Context, s *subject) ([]trust.Observation, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o, err := c.runsWith(reading, s)
	if err != nil {
		return nil, err
	}
	now := c.now()
	o.Kind, o.ObservedAt, o.Expires = s.relying.Kind, now, now.Add(lease)
	s.remember(o, now)
	return []trust.Observation{*o}, nil
}

// remember keeps, after a failure, what counts against the process. That is the leaves that it may still present, if
// it is the same process, and the last known start, which voids earlier probes.
func (s *subject) remember(o *trust.Observation, now time.Time) {
	if o.Failure == "" {
		return
	}
	for i := range s.member.Observations {
		before := &s.member.Observations[i]
		if before.Kind != s.relying.Kind {
			continue
		}
		o.StartedAt = later(o.StartedAt, before.StartedAt)
		if before.Instance == o.Instance && before.Expires.After(now) {
			o.Presents = union(o.Presents, before.Presents)
		}
	}
}

func (c *Collector) runsWith(ctx context.Context, s *subject) (*trust.Observation, error) {
	p := s.placement(c.inventory.Namespace(s.namespace))
	if p == nil {
		return &trust.Observation{Instance: noPod, Failure: fmt.Sprintf(
			"no rollout brings ConfigMap/%s to its node: add it to the aggregate of a configuration with a rollout, "+
				"and do not leave the aggregate out of the rollout's configMapNames", s.d.Bundle.Name)}, nil
	}
	facts, err := c.facts(ctx, s, p.rollout)
	if err != nil {
		return nil, err
	}
	running, failure := nodepod.Look(facts)
	o := &trust.Observation{Instance: cmp.Or(running.Instance, noPod), StartedAt: running.StartedAt, Failure: failure}
	if failure != "" {
		return o, nil
	}
	content, failure, err := c.content(ctx, s.namespace, p.rollout.Config, running.Revision.Number)
	if err != nil {
		return nil, err
	}
	if o.Failure = cmp.Or(failure, nodepod.Prove(running.Revision, content)); o.Failure != "" {
		return o, nil
	}
	if o.Trusts, o.Failure = nodepod.Trusts(content, p.configMap, p.bundleKey); o.Failure != "" {
		return o, nil
	}
	keys := make([]string, 0, len(s.member.Holds))
	for _, leaf := range s.member.Holds {
		key, _ := inventory.AggregateKeys(leaf)
		keys = append(keys, key)
	}
	o.Presents = nodepod.Presents(content, p.secret, keys)
	return o, nil
}
