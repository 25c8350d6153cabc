// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
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
