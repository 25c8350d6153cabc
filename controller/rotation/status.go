// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	applyconfig "certrotation.dev/generated/applyconfiguration/config/v1alpha1"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Reasons of the conditions of a configuration. If it is not accepted, the reason is its problem's.
const (
	reasonAccepted    = "Accepted"
	reasonNotAccepted = "NotAccepted"
	reasonReady       = "Ready"
	reasonBlocked     = "Blocked"
)

const (
	resourceConfigurations = "rotationconfigurations"
	verbApply              = "patch"
)

// reconcileStatuses applies the status of each configuration of a namespace, if it differs.
func (c *Controller) reconcileStatuses(ctx context.Context, k key) error {
	sources, namespace := c.inventory.Sources(k.namespace), c.inventory.Namespace(k.namespace)
	if sources == nil || namespace == nil {
		c.forget(k)
		return nil
	}
	if state, wait := c.expected.check(k, sources); state == behind {
		c.queue.AddAfter(k, wait)
		return nil
	}
	var errs []error
	for _, name := range namespace.Configurations {
		cfg := sources.Configurations[name]
		if cfg == nil {
			// The two reads are of different moments.
			continue
		}
		wanted, known := c.statusOfConfiguration(cfg, namespace)
		if !known || sameStatus(wanted, &cfg.Status) {
			continue
		}
		errs = append(errs, c.applyStatus(ctx, k, cfg, wanted))
	}
	return errors.Join(errs...)
}

// statusOfConfiguration returns the status of a configuration, and false until each of its domains was assessed.
func (c *Controller) statusOfConfiguration(cfg *inventory.Configuration, n *inventory.Namespace) (*configv1alpha1.RotationConfigurationStatus, bool) {
	out := &configv1alpha1.RotationConfigurationStatus{ObservedGeneration: cfg.Generation, Conditions: slices.Clone(cfg.Status.Conditions)}
	accepted := metav1.Condition{Type: configv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: reasonAccepted}
	ready := metav1.Condition{Type: configv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonReady}
	if reason, message := refusedBecause(cfg.Name, n); reason != "" {
		accepted.Status, accepted.Reason, accepted.Message = metav1.ConditionFalse, reason, message
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reasonNotAccepted, "nothing of it takes effect"
	} else {
		if cfg.Loaded == nil {
			return nil, false
		}
		var wrong []string
		for i := range cfg.Loaded.TrustDomains {
			name := cfg.Loaded.TrustDomains[i].Name
			s, known := c.reported.get(key{namespace: n.Name, domain: name})
			if !known {
				return nil, false
			}
			d := statusOfDomain(name, &s, cfg.Status.TrustDomains)
			out.TrustDomains = append(out.TrustDomains, d)
			if d.Message == "" {
				continue
			}
			wrong = append(wrong, name+": "+d.Message)
			switch {
			case s.unadopted:
				ready.Reason = string(trust.ReasonNotAdopted)
			case s.blocked != "" && ready.Reason == reasonReady:
				ready.Reason = reasonBlocked
			}
		}
		for _, p := range aggregateProblems(cfg.Name, n) {
			wrong = append(wrong, fmt.Sprintf("%s %s (%s)", p.Object, p.Message, p.Reason))
			if p.Reason == trust.ReasonNotAdopted {
				ready.Reason = string(trust.ReasonNotAdopted)
			}
		}
		if len(wrong) > 0 {
			ready.Status, ready.Message = metav1.ConditionFalse, display.Message(strings.Join(wrong, "; "))
			if ready.Reason == reasonReady {
				ready.Reason = string(trust.ReasonObjectProblem)
			}
		}
	}
	for _, condition := range []metav1.Condition{accepted, ready} {
		condition.ObservedGeneration, condition.LastTransitionTime = cfg.Generation, metav1.NewTime(c.clock.Now())
		meta.SetStatusCondition(&out.Conditions, condition)
	}
	return out, true
}

func aggregateProblems(configuration string, n *inventory.Namespace) []*trust.Problem {
	var out []*trust.Problem
	for _, agg := range n.Aggregates {
		if agg.Configuration == configuration {
			out = append(out, agg.Secret.Problem, agg.ConfigMap.Problem)
		}
	}
	return slices.DeleteFunc(out, func(p *trust.Problem) bool { return p == nil })
}

// statusOfDomain returns the public status of a domain. While it waits and that is not reported yet, the former
// message stays: after a restart, the length of the wait is unknown.
func statusOfDomain(name string, s *status, before []configv1alpha1.TrustDomainStatus) configv1alpha1.TrustDomainStatus {
	out := configv1alpha1.TrustDomainStatus{Name: name, Stage: string(s.stage), Message: display.Message(s.message())}
	if s.blocked == "" || s.told != "" {
		return out
	}
	at := slices.IndexFunc(before, func(d configv1alpha1.TrustDomainStatus) bool { return d.Name == name && d.Stage == out.Stage })
	if at >= 0 {
		out.Message = before[at].Message
	}
	return out
}

// refusedBecause returns why a configuration has no effect, "" if it has.
func refusedBecause(configuration string, n *inventory.Namespace) (reason, message string) {
	for _, p := range n.Problems {
		if p.Object == string(inventory.ConfigurationKind)+"/"+configuration && notAccepted(p.Reason) {
			return string(p.Reason), display.Message(p.Message)
		}
	}
	return "", ""
}

func notAccepted(reason trust.Reason) bool {
	return reason == inventory.ReasonInvalidConfiguration || reason == inventory.ReasonConflictingClaim
}

// sameStatus reports whether two statuses differ at most in their transition times.
func sameStatus(x, y *configv1alpha1.RotationConfigurationStatus) bool {
	return x.ObservedGeneration == y.ObservedGeneration && slices.Equal(x.TrustDomains, y.TrustDomains) &&
		slices.EqualFunc(x.Conditions, y.Conditions, func(x, y metav1.Condition) bool {
			x.LastTransitionTime, y.LastTransitionTime = metav1.Time{}, metav1.Time{}
			return x == y
		})
}

func (c *Controller) applyStatus(ctx context.Context, k key, cfg *inventory.Configuration, wanted *configv1alpha1.RotationConfigurationStatus) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	status := applyconfig.RotationConfigurationStatus().WithObservedGeneration(wanted.ObservedGeneration)
	for _, condition := range wanted.Conditions {
		status.WithConditions(applymetav1.Condition().WithType(condition.Type).WithStatus(condition.Status).WithReason(condition.Reason).
			WithMessage(condition.Message).WithObservedGeneration(condition.ObservedGeneration).WithLastTransitionTime(condition.LastTransitionTime))
	}
	for _, d := range wanted.TrustDomains {
		status.WithTrustDomains(applyconfig.TrustDomainStatus().WithName(d.Name).WithStage(d.Stage).WithMessage(d.Message))
	}
	// The UID keeps the status from a newer configuration of the same name.
	configuration := applyconfig.RotationConfiguration(cfg.Name, cfg.Namespace).WithUID(cfg.UID).WithStatus(status)
	written, err := c.records.RotationConfigurations(cfg.Namespace).ApplyStatus(ctx, configuration, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if err := c.by.Wrote(verbApply, resourceConfigurations, err); err != nil {
		return fmt.Errorf("status of configuration %s/%s: %w", cfg.Namespace, cfg.Name, apply.Stale(err))
	}
	c.expected.expect(k, object{kind: inventory.ConfigurationKind, namespace: cfg.Namespace, name: cfg.Name}, written.ResourceVersion)
	return nil
}
