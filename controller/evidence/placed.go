// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/staticpod"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// readTimeout bounds all reads of one look at a static pod.
const readTimeout = 30 * time.Second

// placed lists the members of a domain that are static pods which a rollout places on their nodes.
func placed(d *trust.Domain) []*subject {
	return members(d, func(p *trust.Party, m *trust.Member) bool {
		return p.Kind == trust.StaticPodRevision && m.Probe == nil
	})
}

// fanOutPlaced has those members looked at of which something else is expected than when they were last looked at. What
// happens to their pods is told by podWatches.
func (c *Collector) fanOutPlaced(n *inventory.Namespace, d *trust.Domain, exists map[target]bool) {
	for _, s := range placed(d) {
		exists[s.target] = true
		if c.watched.begin(s.target, false, s.expectation(n)) {
			c.queue.Add(s.target)
		}
	}
}

// visitPlaced looks at a static pod. It comes again only if the API server could not be asked: a pod that changes is an
// event.
func (c *Collector) visitPlaced(ctx context.Context, s *subject) (time.Duration, error) {
	if err := c.observePlaced(ctx, s); err != nil {
		return jitter(fallbackInterval), err
	}
	c.watched.settle(s.target)
	return 0, nil
}

// expectation names what the member is, apart from what it runs.
func (s *subject) expectation(n *inventory.Namespace) string {
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
	parts := []string{p.rollout.Config.Name, p.configMap, p.bundleKey, p.secret, uid, fmt.Sprint(s.member.Observation != nil)}
	return strings.Join(append(parts, s.member.Holds...), "\n")
}

// placement is what brings the trust of a domain to a node.
type placement struct {
	rollout *inventory.Rollout
	// configMap has the domain's bundle under bundleKey, secret has its leaves. Both go without a number.
	configMap, bundleKey, secret string
}

// placement finds the rollout whose aggregate has the domain's bundle, nil if there is none that revisions it.
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

// observePlaced records what the static pod of a node runs with, if that is news.
func (c *Collector) observePlaced(ctx context.Context, s *subject) error {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o, err := c.lookPlaced(reading, s)
	if err := cmp.Or(err, ended(ctx)); err != nil {
		return err
	}
	if before := s.member.Observation; o.Failure != "" && before != nil {
		o.Trusts, o.Presents, o.StartedAt = before.Trusts, before.Presents, before.StartedAt
	}
	o.ObservedAt = c.clock.Now()
	return c.record(ctx, s, o)
}

// lookPlaced fails only if the API server cannot be asked.
func (c *Collector) lookPlaced(ctx context.Context, s *subject) (*trust.Observation, error) {
	p := s.placement(c.inventory.Namespace(s.namespace))
	if p == nil {
		return &trust.Observation{Failure: fmt.Sprintf(
			"no rollout brings ConfigMap/%s to its node: add it to the aggregate of a configuration with a rollout, "+
				"and do not leave the aggregate out of the rollout's configMapNames", s.d.Bundle.Name)}, nil
	}
	facts, err := c.facts(ctx, s, p.rollout)
	if err != nil {
		return nil, err
	}
	running, failure := staticpod.Look(facts)
	if failure != "" {
		return &trust.Observation{Failure: failure}, nil
	}
	content, failure, err := c.content(ctx, s.namespace, p.rollout.Config, running.Revision.Number)
	if err != nil {
		return nil, err
	}
	if failure = cmp.Or(failure, staticpod.Prove(running.Revision, content)); failure != "" {
		return &trust.Observation{Failure: failure}, nil
	}
	anchors, failure := staticpod.Trusts(content, p.configMap, p.bundleKey)
	if failure != "" {
		return &trust.Observation{Failure: failure}, nil
	}
	keys := make([]string, 0, len(s.member.Holds))
	for _, leaf := range s.member.Holds {
		key, _ := inventory.AggregateKeys(leaf)
		keys = append(keys, key)
	}
	return &trust.Observation{
		Trusts: anchors, Presents: staticpod.Presents(content, p.secret, keys), StartedAt: running.StartedAt,
	}, nil
}
