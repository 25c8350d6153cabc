// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/trust"
)

const (
	// maxBatch bounds the actions on one assessment, so that a domain of thousands of leaves is assessed anew in
	// between.
	maxBatch = 64
	// writeTimeout bounds the reads and the write of one action.
	writeTimeout = 20 * time.Second
)

// performAll does the actions of one assessment in turn. They are independent, so one failure does not stop the rest.
// Irreversible ones come last, and are confirmed together first. Refused ones are left out until their back-off is
// over.
func (c *Controller) performAll(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	errs := []error{c.withdrawRefusals(ctx, k, d, actions)}
	now, later := partition(c.due(k, actions), func(action *trust.Action) bool { return !action.Irreversible })
	if len(now)+len(later) > maxBatch {
		c.queue.Add(k)
		now = now[:min(len(now), maxBatch)]
		later = later[:min(len(later), maxBatch-len(now))]
	}
	for i := range now {
		errs = append(errs, c.perform(ctx, k, d, domainContent{c, d}, &now[i]))
	}
	if len(later) > 0 && ctx.Err() == nil {
		errs = append(errs, c.performConfirmed(ctx, k, d, later))
	}
	return errors.Join(errs...)
}

// performConfirmed does the actions that are still proposed on fresh evidence and live reads, and acts on what was
// read.
func (c *Controller) performConfirmed(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	live, confirmed, err := c.confirm(ctx, k, d, actions)
	if err != nil {
		return fmt.Errorf("confirm %d actions on %s, first %s on %s: %w", len(actions), k, actions[0].Kind, actions[0].Object, err)
	}
	var errs []error
	for i := range confirmed {
		errs = append(errs, c.perform(ctx, k, live, domainContent{c, live}, &confirmed[i]))
	}
	return errors.Join(errs...)
}

// confirm collects fresh evidence and reads everything live, once for all actions of an assessment. It returns the
// domain that was read and the actions still proposed for it, or apply.ErrStale if there is none.
func (c *Controller) confirm(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) (*trust.Domain, []trust.Action, error) {
	if c.evidence != nil {
		if err := c.evidence.Refresh(ctx, d); err != nil {
			return nil, nil, fmt.Errorf("collect evidence: %w", err)
		}
	}
	live, err := c.liveDomain(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	if live == nil {
		return nil, nil, apply.ErrStale
	}
	assessed := *live
	assessed.Absences, assessed.Refusals = d.Absences, d.Refusals
	live, a, err := c.assessByClock(ctx, k, &assessed)
	if err != nil {
		return nil, nil, err
	}
	proposed := slices.DeleteFunc(a.Actions, func(is trust.Action) bool {
		return !slices.ContainsFunc(actions, func(was trust.Action) bool { return sameAction(&is, &was) })
	})
	if len(proposed) == 0 {
		return nil, nil, fmt.Errorf("not proposed on live reads: %w", apply.ErrStale)
	}
	return live, proposed, nil
}

func sameAction(a, b *trust.Action) bool {
	return a.Kind == b.Kind && a.ObjectKind == b.ObjectKind && a.Object == b.Object && a.Authority == b.Authority
}

// due returns the actions whose back-off is over. It requeues the domain for the next one.
func (c *Controller) due(k key, actions []trust.Action) []trust.Action {
	var soonest time.Duration
	out := make([]trust.Action, 0, len(actions))
	for i := range actions {
		wait := c.refused.wait(k, &actions[i])
		if wait <= 0 {
			out = append(out, actions[i])
			continue
		}
		if soonest == 0 || wait < soonest {
			soonest = wait
		}
	}
	if soonest > 0 {
		c.queue.AddAfter(k, soonest)
	}
	return out
}

func partition(actions []trust.Action, is func(*trust.Action) bool) (yes, no []trust.Action) {
	for i := range actions {
		if is(&actions[i]) {
			yes = append(yes, actions[i])
		} else {
			no = append(no, actions[i])
		}
	}
	return yes, no
}

// content produces the content of a written object: of a trust domain, or of an aggregate. It gets the live object,
// or an empty one.
type content interface {
	fillSecret(ctx context.Context, secret *corev1.Secret, action *trust.Action) error
	fillConfigMap(ctx context.Context, configMap *corev1.ConfigMap, action *trust.Action) error
}

// perform makes the one write of an action, and delays the next decision until the cache shows it. A refusal by the
// API server is no error: the action has its own back-off, and holds up no other.
func (c *Controller) perform(ctx context.Context, k key, d *trust.Domain, of content, action *trust.Action) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	start := c.clock.Now()
	// A shutdown must not interrupt a write: its result would be unknown.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if action.Kind == trust.RequestIssuance {
		return c.requestIssuance(writing, k, d, action)
	}
	var (
		named   = metav1.ObjectMeta{Namespace: k.namespace, Name: action.Object}
		written metav1.Object
		wrote   bool
		err     error
	)
	switch {
	case action.ResourceVersion == "" && !withoutVersion(action.Kind):
		err = apply.ErrStale
	case action.Kind == trust.ClearRequest:
		err = c.clearRequest(writing, d, action)
	case action.Kind == trust.DropEvidence:
		err = c.dropEvidence(writing, k, action)
	case action.ObjectKind == trust.RecordKind:
		written, wrote, err = c.writeRoster(writing, k, d, action)
	case action.ObjectKind == trust.ConfigMapKind:
		written, wrote, err = apply.To(c.client.CoreV1().ConfigMaps(k.namespace), "configmaps", c.by).Write(writing,
			&corev1.ConfigMap{ObjectMeta: named}, action.ResourceVersion, func(configMap *corev1.ConfigMap, _ bool) error {
				applyMetadata(&configMap.ObjectMeta, action, trust.Metadata{})
				return of.fillConfigMap(writing, configMap, action)
			})
	default:
		written, wrote, err = apply.To(c.client.CoreV1().Secrets(k.namespace), "secrets", c.by).Write(writing,
			&corev1.Secret{ObjectMeta: named}, action.ResourceVersion, func(secret *corev1.Secret, _ bool) error {
				applyMetadata(&secret.ObjectMeta, action, trust.Metadata{})
				return of.fillSecret(writing, secret, action)
			})
	}
	c.metrics.observe(action.Kind, err, c.clock.Since(start))
	if err != nil {
		err = fmt.Errorf("%s on %s %s/%s: %w", action.Kind, action.ObjectKind, k.namespace, action.Object, err)
		if c.refuse(ctx, k, d, action, err) {
			return nil
		}
		return err
	}
	if wrote {
		c.announce(written, action)
	}
	c.expect(k, action, written)
	klog.FromContext(ctx).Info("Done", "action", action.Kind, "kind", action.ObjectKind,
		"object", klog.KRef(k.namespace, action.Object), "why", action.Reason)
	return c.accepted(ctx, k, d, action)
}

// withoutVersion reports whether an action may have no resource version: it creates the object if there is none, or
// identifies it by UID.
func withoutVersion(kind trust.ActionKind) bool {
	switch kind {
	case trust.GenerateActive, trust.GenerateNext, trust.IssueLeaf, trust.PublishAnchors, trust.RecordRoster, trust.ClearRequest,
		trust.WriteAggregateSecret, trust.WriteAggregateConfigMap:
		return true
	case trust.RequestAuthority, trust.InstallNext, trust.DropRequest, trust.Promote, trust.RetireAnchors, trust.DestroyPrevious, trust.DropNext, trust.DropEvidence, trust.RecordMetadata, trust.WriteTrustStores,
		trust.UpdateLeafAnchors, trust.WriteKeystores, trust.RequestIssuance:
	}
	return false
}

// expect delays the next decision until the cache shows what an action has done.
func (c *Controller) expect(k key, action *trust.Action, written metav1.Object) {
	o := object{kind: action.ObjectKind, namespace: k.namespace, name: action.Object}
	switch action.Kind {
	case trust.ClearRequest:
		c.expected.expectGone(k, o, types.UID(action.Request.ID))
	case trust.DropEvidence:
		c.expected.expectGone(k, o, types.UID(action.Evidence.UID))
	default:
		c.expected.expect(k, o, written.GetResourceVersion())
	}
}
