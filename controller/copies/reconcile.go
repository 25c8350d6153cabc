// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// writeTimeout bounds the reads and the write of one copy.
const writeTimeout = 20 * time.Second

// task is one copy with its source.
type task struct {
	key  key
	copy *configv1alpha1.Copy
	// domain of the source, and the name of the configuration that owns it.
	domain        *trust.Domain
	configuration string
	// to is the cluster of the copy.
	to kubernetes.Interface
	// assess returns what the copy may hold, given what it holds.
	assess func(held state) *trust.CopyAssessment
}

func (c *Controller) reconcileCopy(ctx context.Context, k key) error {
	if k.cluster != "" {
		return c.reconcileRemote(ctx, k)
	}
	t := c.task(k)
	if t == nil {
		return c.retire(ctx, k, c.client)
	}
	t.to = c.client
	if o := c.forbidden(t); o != nil {
		c.report(k, o.Error())
		return o
	}
	if permitted, err := c.ask(ctx, t, seen); err != nil || !permitted {
		return err
	}
	known := c.memory.get(k)
	a := t.assess(known)
	if len(a.Blockers) > 0 {
		c.leave(t, a, waitsFor(a.Blockers))
		return nil
	}
	if there := c.watches.version(k.target); there != "" && there == known.version && known.wanted == t.wanted(a) {
		c.leave(t, a, keeps(a))
		return nil
	}
	return c.follow(ctx, t)
}

// follow makes a copy hold what the assessment allows. The consent is read live before.
func (c *Controller) follow(ctx context.Context, t *task) error {
	k := t.key
	if permitted, err := c.ask(ctx, t, live); err != nil || !permitted {
		return err
	}
	// Finish a write that has begun: after a shutdown its result would be unknown.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	a, wrote, err := c.write(writing, t)
	if err != nil {
		c.memory.update(k, func(s *state) { s.wanted, s.version = "", "" })
		if !apply.Benign(err) {
			c.report(k, told(err))
		}
		return fmt.Errorf("copy %s %s/%s to %s: %w", k.kind, k.from, t.copy.Name, k.where(), err)
	}
	c.leave(t, a, keeps(a))
	if wrote {
		klog.FromContext(ctx).Info("Copied", "source", klog.KRef(k.from, t.copy.Name))
	}
	return nil
}

// ask reports whether a copy may stay, and takes it back if it is withdrawn. It returns an error if no watch
// announces the change, so that the key is retried.
func (c *Controller) ask(ctx context.Context, t *task, where reading) (bool, error) {
	k := t.key
	verdict, why, err := c.permitted(ctx, k, t.to, where)
	if err == nil && verdict == trust.CopyWithdrawn && where == seen {
		verdict, why, err = c.permitted(ctx, k, t.to, live)
	}
	if err == nil && verdict == trust.CopyWithdrawn {
		err = c.deleteCopy(ctx, k, t.to)
	}
	switch {
	case err != nil:
		if !apply.Benign(err) {
			c.report(k, told(err))
		}
		return false, err
	case verdict == trust.CopyAllowed:
		return true, nil
	}
	c.report(k, why)
	if k.cluster == "" && c.watches.namespace(k.from) != nil && c.watches.namespace(k.namespace) != nil {
		return false, nil
	}
	return false, obstruct("%s", why)
}

// retire takes back a copy that the cached configuration does not want, unless live reads contradict.
func (c *Controller) retire(ctx context.Context, k key, to kubernetes.Interface) error {
	if k.cluster == "" && !c.watches.covers(k.namespace) || !c.watches.covers(k.from) {
		c.memory.forget(k)
		return nil
	}
	verdict, why, err := c.unasked(ctx, k, to)
	if err == nil && verdict == trust.CopyWithdrawn {
		err = c.deleteCopy(ctx, k, to)
	}
	switch {
	case k.cluster != "" && obstacleOf(err) != nil && obstacleOf(err).nowhere:
		c.memory.forget(k)
	case err != nil && !apply.Benign(err):
		c.report(k, told(err))
		return err
	case err != nil:
		return err
	case verdict == trust.CopyWithdrawn:
		c.memory.forget(k)
	default:
		// A change of the configuration or the label enqueues the copy again.
		c.report(k, why)
	}
	return nil
}

// leave keeps a copy as it is until something changes, or time changes the assessment.
func (c *Controller) leave(t *task, a *trust.CopyAssessment, held string) {
	if !a.Recheck.IsZero() {
		c.queueOf(t.key).AddAfter(t.key, a.Recheck.Sub(c.clock.Now()))
	}
	c.report(t.key, held)
}

// task finds the copy in the configuration and its source in the inventory, nil if it is no longer wanted.
func (c *Controller) task(k key) *task {
	n := c.inventory.Namespace(k.from)
	cp := copyIn(n, k.target)
	if cp == nil {
		return nil
	}
	t := &task{key: k, copy: cp}
	now := c.clock.Now()
	for _, d := range n.Domains {
		switch {
		case cp.Kind == configv1alpha1.CopyConfigMap && d.Bundle.Name == cp.Name:
			t.domain, t.assess = d, func(held state) *trust.CopyAssessment { return trust.AssessBundleCopy(d, held.anchors, now) }
		case cp.Kind == configv1alpha1.CopySecret && d.Leaf(cp.Name) != nil:
			t.domain, t.assess = d, func(state) *trust.CopyAssessment {
				a := trust.AssessLeafCopy(d, cp.Name, now)
				a.FollowBundles(c.bundlesBefore(n, cp, d))
				return a
			}
		}
	}
	for _, name := range n.Configurations {
		if slices.Contains(n.DomainsOf(name), t.domain) {
			t.configuration = name
		}
	}
	if t.domain == nil {
		object := string(cp.Kind) + "/" + cp.Name
		t.assess = func(state) *trust.CopyAssessment {
			return &trust.CopyAssessment{Blockers: []trust.Blocker{{
				Object: object, Reason: trust.ReasonMissing, Message: "is no bundle or leaf of a trust domain that takes effect",
			}}}
		}
	}
	return t
}

func copyIn(n *inventory.Namespace, t target) *configv1alpha1.Copy {
	if n == nil {
		return nil
	}
	for i := range n.Copies {
		if keyOf(n.Name, &n.Copies[i]).target == t {
			return &n.Copies[i]
		}
	}
	return nil
}

// sourceVersion is the resource version of the source at the decision.
func (t *task) sourceVersion() string {
	if t.copy.Kind == configv1alpha1.CopyConfigMap {
		return t.domain.Bundle.ResourceVersion
	}
	return t.domain.Leaf(t.copy.Name).ResourceVersion
}

// wanted identifies what the copy must be made of.
func (t *task) wanted(a *trust.CopyAssessment) string {
	parts := []string{t.sourceVersion()}
	for _, k := range a.Kept {
		parts = append(parts, string(k.Certificate.Fingerprint))
	}
	return strings.Join(parts, " ")
}
