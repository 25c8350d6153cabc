// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// noTarget is the instance of a target that does not exist, does not ask for the bundle, or cannot be read.
const noTarget = "no object"

// TargetWritten enqueues a target whose caBundle was written with the bundle of a namespace. It does not block.
func (c *Collector) TargetWritten(namespace string, written trust.InjectionTarget) {
	c.lookAgain(namespace, func(s *subject) bool { return s.targeted() && s.target.member == written.Member() })
}

var targetObserver = observer{kind: trust.CABundle, has: anyMember, observe: (*Collector).lookTarget}

// lookTarget observes an object with a caBundle. It fails only if the API server cannot be asked.
func (c *Collector) lookTarget(ctx context.Context, s *subject) ([]trust.Observation, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o, err := c.held(reading, s)
	if err != nil {
		return nil, err
	}
	now := c.now()
	o.Kind, o.ObservedAt, o.Expires = s.relying.Kind, now, now.Add(lease)
	if o.Failure == "" {
		o.StartedAt = trust.HeldSince(s.d, s.known(o.Instance, now), o.Trusts, now)
	}
	return []trust.Observation{*o}, nil
}

func (c *Collector) held(ctx context.Context, s *subject) (*trust.Observation, error) {
	t, ok := trust.TargetOf(s.target.member)
	if !ok {
		return &trust.Observation{Instance: noTarget, Failure: "is no object with a caBundle"}, nil
	}
	object, err := c.getTarget(ctx, t)
	switch {
	case apierrors.IsNotFound(err), err == nil && !c.asks(object, s.d):
		return &trust.Observation{Instance: noTarget, Failure: fmt.Sprintf(
			"no %s %s asks for this bundle: make it, give it the annotation %s: %s/%s, or take it out of bundle.injectInto",
			t.Kind, t.Name, injection.Annotation, s.namespace, s.d.Bundle.Name)}, nil
	case apierrors.IsForbidden(err):
		return &trust.Observation{Instance: noTarget, Failure: fmt.Sprintf(
			"certrotation may not read %s %s: that needs the installation with manifests/components/ca-bundles", t.Kind, t.Name)}, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", t.Kind, t.Name, err)
	}
	o := &trust.Observation{Instance: string(object.GetUID())}
	o.Trusts, o.Failure = heldByAll(configv1alpha1.InjectionKind(t.Kind), object)
	return o, nil
}

// heldByAll returns the anchors that every entry of a target holds. If they cannot be read or recorded, it returns
// none and the reason.
func heldByAll(kind configv1alpha1.InjectionKind, object *unstructured.Unstructured) (trusts []pki.Fingerprint, failure string) {
	entries, err := injection.Entries(kind, object)
	if err != nil {
		return nil, err.Error()
	}
	if trusts, failure = injection.HeldByAll(entries); len(trusts) > record.MaxFingerprints {
		return nil, fmt.Sprintf("its caBundle holds %d anchors, more than the %d that can be recorded", len(trusts), record.MaxFingerprints)
	}
	return trusts, failure
}

// asks reports whether a target consents to the bundle of a domain. The author of the configuration may lack the
// right to read the target. So nothing is told of one without consent, not even that it exists.
func (c *Collector) asks(object *unstructured.Unstructured, d *trust.Domain) bool {
	source, _ := injection.SourceOf(object.GetAnnotations(), c.certManager)
	return source != nil && source.Namespace == d.Namespace && source.ConfigMap == d.Bundle.Name
}

func (c *Collector) getTarget(ctx context.Context, t trust.InjectionTarget) (*unstructured.Unstructured, error) {
	resource, ok := injection.Resources[configv1alpha1.InjectionKind(t.Kind)]
	if !ok {
		return nil, fmt.Errorf("%q has no caBundle", t.Kind)
	}
	return c.targets.Resource(resource).Get(ctx, t.Name, metav1.GetOptions{})
}

// absentTarget gets the object of the member's name from the API server, not from a cache.
func (c *Collector) absentTarget(ctx context.Context, m *trust.RosterMember) (proof, doubt string) {
	t, ok := trust.TargetOf(m.Member)
	if !ok {
		return "", "it is no object with a caBundle"
	}
	_, err := c.getTarget(ctx, t)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Sprintf("get %s: %v", t, err)
	}
	if proof = trust.AbsentTarget(m, err == nil); proof == "" {
		doubt = t.String() + " exists"
	}
	return proof, doubt
}
