// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// refuse handles an error that is a refusal by the API server, and reports whether it is one. It emits an event the
// first time, records the refusal, and delays the action.
func (c *Controller) refuse(ctx context.Context, k key, d *trust.Domain, action *trust.Action, err error) bool {
	write, news, ok := c.refused.failed(k, action, err, d.Refusals)
	if !ok {
		return false
	}
	logger := klog.FromContext(ctx).WithValues("verb", write.Verb, "kind", action.ObjectKind, "object", klog.KRef(k.namespace, action.Object))
	if news {
		logger.Error(err, "The API server refuses a write, will retry")
		c.emit(referenceOf(k.namespace, write.Object, uidOf(d, write.Object)), corev1.EventTypeWarning, EventWriteRefused,
			string(action.Kind), fmt.Sprintf("the API server refuses to %s %s: %s", write.Verb, write.Object, write.Answer))
	} else {
		logger.V(2).Info("The API server still refuses a write", "answer", write.Answer)
	}
	if c.refused.unrecorded(k, action) {
		if err := c.recordRefusal(ctx, k, d, &write); err != nil {
			// The record may be refused for the same reason. The event and the metrics show the refusal, and the
			// model gets it.
			logger.V(2).Info("The refusal is not recorded", "reason", err.Error())
		} else {
			c.refused.recorded(k, action, &write)
		}
	}
	// The next pass shows the refusal as a blocker; the action itself waits.
	c.queue.Add(k)
	return true
}

func (c *Controller) recordRefusal(ctx context.Context, k key, d *trust.Domain, write *trust.RefusedWrite) error {
	made, err := record.OfRefusal(d.Namespace, d.Name, write)
	if err != nil {
		return err
	}
	return c.writeRecord(ctx, k, made)
}

func withRefusals(d *trust.Domain, refusals []trust.RefusedWrite) *trust.Domain {
	out := *d
	out.Refusals = refusals
	return &out
}

// withRetries returns the actions of an assessment, and the wanted ones that it left out because they are refused.
// Those are retried all the same.
func (c *Controller) withRetries(d *trust.Domain, a *trust.Assessment) []trust.Action {
	if len(d.Refusals) == 0 {
		return a.Actions
	}
	actions := slices.Clone(a.Actions)
	for _, wanted := range c.assess(withRefusals(d, nil), c.clock.Now()).Actions {
		if o := objectOf(&wanted); recordedOf(d.Refusals, o) != nil && !concerned(actions, o) {
			actions = append(actions, wanted)
		}
	}
	return actions
}

// accepted deletes the record of a refusal after the object was written.
func (c *Controller) accepted(ctx context.Context, k key, d *trust.Domain, action *trust.Action) error {
	if was := c.refused.done(k, action); !was && recordedOf(d.Refusals, objectOf(action)) == nil {
		return nil
	}
	return c.withdraw(ctx, k, objectOf(action))
}

// withdrawRefusals deletes the refusal records of objects of the domain that no action writes now.
func (c *Controller) withdrawRefusals(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	gone := c.refused.unwanted(k, actions)
	for i := range d.Refusals {
		if o := d.Refusals[i].Object; concerns(d, o) && !concerned(actions, o) && !slices.Contains(gone, o) {
			gone = append(gone, o)
		}
	}
	return c.withdraw(ctx, k, gone...)
}

// concerns reports whether actions of a domain write an object, given as Kind/name.
func concerns(d *trust.Domain, object string) bool {
	secret := func(name string) string { return string(trust.SecretKind) + "/" + name }
	switch object {
	case secret(d.Signer.Name), d.Bundle.Ref(), string(trust.RecordKind) + "/" + record.RosterName(d.Name):
		return true
	}
	delivers := func(i *trust.Issued) bool { return i != nil && secret(i.Name) == object }
	return delivers(d.Signer.Issued) ||
		slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return secret(l.Name) == object || delivers(l.Issued) }) ||
		slices.ContainsFunc(d.Evidence, func(r trust.EvidenceRecord) bool { return string(trust.RecordKind)+"/"+r.Record == object }) ||
		slices.ContainsFunc(d.Requests, func(r trust.Request) bool { return string(trust.RecordKind)+"/"+r.Record == object })
}

func (c *Controller) withdraw(ctx context.Context, k key, objects ...string) error {
	var errs []error
	for _, refused := range objects {
		errs = append(errs, c.deleteRecord(ctx, k, record.RefusalName(refused)))
	}
	return errors.Join(errs...)
}

// recordedRefusals returns the refusals of a namespace, of any object. It skips restarts, whose records belong to
// controller/rollout/workload.
func recordedRefusals(s *inventory.Sources) []trust.RefusedWrite {
	if s == nil {
		return nil
	}
	var out []trust.RefusedWrite
	for _, r := range s.Records {
		if r.Said != nil && r.Said.Refusal != nil && r.Said.Refusal.Verb != trust.VerbRestart {
			out = append(out, *r.Said.Refusal)
		}
	}
	return out
}

// withdrawOthers deletes the refusal records of objects that no domain writes: aggregates that are in sync, and
// objects that the configurations no longer name.
func (c *Controller) withdrawOthers(ctx context.Context, k key, n *inventory.Namespace, recorded []trust.RefusedWrite, actions []trust.Action) error {
	gone := c.refused.unwanted(k, actions)
	for i := range recorded {
		o := recorded[i].Object
		written := slices.ContainsFunc(n.Domains, func(d *trust.Domain) bool { return concerns(d, o) })
		if !written && !concerned(actions, o) && !slices.Contains(gone, o) {
			gone = append(gone, o)
		}
	}
	slices.Sort(gone)
	return c.withdraw(ctx, k, gone...)
}
