// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/trust"
)

func (c *Controller) reconcile(ctx context.Context, k key) error {
	switch {
	case k.kind != "":
		return c.askFor(ctx, k.kind)
	case k.namespace == "":
		return c.reconcileTarget(ctx, k.target)
	}
	c.tellConfigurations(k.namespace)
	targets, err := c.from(k.namespace)
	for _, t := range targets {
		c.queue.Add(key{target: t})
	}
	return err
}

func (c *Controller) reconcileTarget(ctx context.Context, t target) error {
	object := c.seen(t)
	if object == nil {
		c.memory.forget(t)
		return nil
	}
	if err := c.replaced(t, object); err != nil {
		c.report(t, object, err.Error())
		return err
	}
	d, held := c.permitted(t, object)
	if d == nil && held == "" {
		c.memory.forget(t)
		return nil
	}
	if d == nil {
		c.memory.dropOutdated(t, object.GetResourceVersion())
		c.report(t, object, held)
		return nil
	}
	entries, err := c.entries(ctx, t, object)
	if err == nil {
		err = c.follow(ctx, t, object, d, entries)
	}
	if err != nil {
		if !apply.Benign(err) {
			c.report(t, object, err.Error())
		}
		return fmt.Errorf("inject the CA bundle of %s/%s into %s %s: %w", d.Namespace, d.Bundle.Name, t.Kind, t.Name, err)
	}
	return nil
}

// replaced returns an error if another installation serves our API. The worker logs it, because this installation has
// also lost the right to write events.
func (c *Controller) replaced(t target, object metav1.Object) error {
	source, _ := c.sourceOf(object)
	own := t == target{Kind: string(configv1alpha1.InjectAPIService), Name: OwnAPIService}
	if !own || source == nil || c.cfg.Installation == "" || source.Namespace == c.cfg.Installation {
		return nil
	}
	return fmt.Errorf("APIService %s is that of an installation in namespace %s, and a cluster has one: delete the one in %s, or apply its manifests again",
		t.Name, source.Namespace, c.cfg.Installation)
}

func (c *Controller) follow(ctx context.Context, t target, object metav1.Object, d *trust.Domain, entries []injection.Entry) error {
	a := injection.Assess(d, entries, c.clock.Now())
	if a.Outdated {
		var err error
		if a, err = c.inject(ctx, t, d); err != nil {
			return err
		}
	}
	if !a.Recheck.IsZero() {
		c.queue.AddAfter(key{target: t}, a.Recheck.Sub(c.clock.Now()))
	}
	c.report(t, object, heldBy(a))
	return nil
}

// permitted returns the trust domain whose bundle a target may have, or why it may not. Both are empty if the target
// does not concern certrotation.
func (c *Controller) permitted(t target, object metav1.Object) (*trust.Domain, string) {
	source, why := c.sourceOf(object)
	if source == nil {
		return nil, why
	}
	request := &injection.Request{Target: t, Source: *source, Managed: c.cfg.Inventory.Managed(source.Namespace)}
	if n := c.cfg.Inventory.Namespace(source.Namespace); n != nil {
		for _, d := range n.Domains {
			if d.Bundle.Name == source.ConfigMap {
				request.Domain = d
			}
		}
	}
	why, ours := request.Refusal()
	switch {
	case why == "":
		return request.Domain, ""
	case !ours:
		return nil, ""
	}
	return nil, why
}

// entries returns the entries of the observed version of a target. It reads the target only if that version was not
// read before.
func (c *Controller) entries(ctx context.Context, t target, object metav1.Object) ([]injection.Entry, error) {
	if known := c.memory.get(t); known.version != "" && known.version == object.GetResourceVersion() {
		return known.entries, nil
	}
	live, exists, err := c.writer(t).Get(ctx, t.Name)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if !exists {
		return nil, apply.ErrStale
	}
	entries, err := injection.Entries(configv1alpha1.InjectionKind(t.Kind), live)
	if err != nil {
		return nil, err
	}
	c.remember(t, live, entries)
	return entries, nil
}

// remember keeps the entries of a target, and nothing else of it.
func (c *Controller) remember(t target, live metav1.Object, entries []injection.Entry) {
	c.memory.update(t, func(s *state) {
		s.version, s.entries = live.GetResourceVersion(), injection.Known(entries)
	})
}

// heldBy is why a target does not hold exactly its bundle, "" if it does.
func heldBy(a *injection.Assessment) string {
	var texts []string
	for i := range a.Blockers {
		texts = append(texts, fmt.Sprintf("%s (%s)", &a.Blockers[i], a.Blockers[i].Reason))
	}
	for _, kept := range a.Kept {
		texts = append(texts, fmt.Sprintf("it keeps %s, which its bundle has lost and %s needs", kept.Certificate.Subject, strings.Join(kept.NeededBy, ", ")))
	}
	return strings.Join(texts, "; ")
}
