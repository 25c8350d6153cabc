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

// refuse deals with an error that is a refusal by the API server, and says whether it is one: the first time it is told,
// it is recorded, and the action is left alone for a while.
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
			// It may be refused for the same reason. The event and the metrics say it, and the model is told.
			logger.V(2).Info("The refusal is not recorded", "reason", err.Error())
		} else {
			c.refused.recorded(k, action, &write)
		}
	}
	// The model makes a blocker of it, which is to be shown; the action itself waits.
	c.queue.Add(k)
	return true
}

// recordRefusal writes the record of a refusal, if it does not say so already.
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

// withRetries are the actions of an assessment, and those that are wanted but were left out because they are refused: they
// are tried again all the same.
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

// accepted takes back what was said of an object that has been written.
func (c *Controller) accepted(ctx context.Context, k key, d *trust.Domain, action *trust.Action) error {
	if was := c.refused.done(k, action); !was && recordedOf(d.Refusals, objectOf(action)) == nil {
		return nil
	}
	return c.withdraw(ctx, k, objectOf(action))
}

// withdrawRefusals takes back what was said of objects of the domain that nothing is to be done with any more.
func (c *Controller) withdrawRefusals(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	gone := c.refused.unwanted(k, actions)
	for i := range d.Refusals {
		if o := d.Refusals[i].Object; concerns(d, o) && !concerned(actions, o) && !slices.Contains(gone, o) {
			gone = append(gone, o)
		}
	}
	return c.withdraw(ctx, k, gone...)
}

// concerns says whether an object, as Kind/name, is one that the actions of a domain write.
func concerns(d *trust.Domain, object string) bool {
	secret := func(name string) string { return string(trust.SecretKind) + "/" + name }
	switch object {
	case secret(d.Signer.Name), string(trust.ConfigMapKind) + "/" + d.Bundle.Name, string(trust.RecordKind) + "/" + record.RosterName(d.Name):
		return true
	}
	return slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return secret(l.Name) == object }) ||
		slices.ContainsFunc(d.Evidence, func(r trust.EvidenceRecord) bool { return string(trust.RecordKind)+"/"+r.Record == object }) ||
		slices.ContainsFunc(d.Requests, func(r trust.Request) bool { return string(trust.RecordKind)+"/"+r.Record == object })
}

// withdraw deletes the records of refusals.
func (c *Controller) withdraw(ctx context.Context, k key, objects ...string) error {
	var errs []error
	for _, refused := range objects {
		errs = append(errs, c.deleteRecord(ctx, k, record.RefusalName(refused)))
	}
	return errors.Join(errs...)
}

// recordedRefusals are those of a namespace, whatever they belong to. Restarts are recorded by whoever makes them.
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

// withdrawOthers takes back what was said of objects that no domain writes: of aggregates that are as they should be, and
// of what the configurations do not name any more.
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
