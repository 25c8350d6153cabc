// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/trust"
)

// writeTimeout bounds the reads and the write of one target.
const writeTimeout = 20 * time.Second

// inject writes a target after live reads of the target, its bundle and the configuration. It returns the assessment
// that it used.
func (c *Controller) inject(ctx context.Context, t target, d *trust.Domain) (*injection.Assessment, error) {
	// Finish a write that has begun: after a shutdown its result would be unknown.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := c.confirm(ctx, d); err != nil {
		return nil, err
	}
	w := c.writer(t)
	live, exists, err := w.Get(ctx, t.Name)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if !exists {
		return nil, apply.ErrStale
	}
	if source, _ := c.sourceOf(live); source == nil || source.Namespace != d.Namespace || source.ConfigMap != d.Bundle.Name {
		return nil, apply.ErrStale
	}
	entries, err := injection.Entries(configv1alpha1.InjectionKind(t.Kind), live)
	if err != nil {
		return nil, err
	}
	a := injection.Assess(d, entries, c.clock.Now())
	if !a.Outdated {
		c.remember(t, live, entries)
		return a, nil
	}
	for i := range entries {
		entries[i].Put(a.Anchors[i])
	}
	written, err := w.Update(ctx, live)
	if err != nil {
		// A target that was deleted meanwhile needs no write.
		return nil, apply.Stale(err)
	}
	c.remember(t, written, entries)
	if c.cfg.Wrote != nil {
		c.cfg.Wrote(d.Namespace, t)
	}
	klog.FromContext(ctx).Info("Injected a CA bundle", "bundle", klog.KRef(d.Namespace, d.Bundle.Name), "holds", injection.Held(entries))
	return a, nil
}

// confirm checks by live reads that bundle and configuration are still the versions of the decision.
func (c *Controller) confirm(ctx context.Context, d *trust.Domain) error {
	bundle, err := c.cfg.Client.CoreV1().ConfigMaps(d.Namespace).Get(ctx, d.Bundle.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the bundle: %w", apply.Stale(err))
	}
	configuration, err := c.cfg.Configurations.RotationConfigurations(d.Namespace).Get(ctx, d.Configuration, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read its configuration: %w", apply.Stale(err))
	}
	sources := c.cfg.Inventory.Sources(d.Namespace)
	if sources == nil || sources.Configurations[d.Configuration] == nil {
		return apply.ErrStale
	}
	known := sources.Configurations[d.Configuration]
	if bundle.ResourceVersion != d.Bundle.ResourceVersion || configuration.UID != known.UID || configuration.Generation != known.Generation {
		return apply.ErrStale
	}
	return nil
}

func (c *Controller) writer(t target) apply.Writer[*unstructured.Unstructured] {
	resource := injection.Resources[configv1alpha1.InjectionKind(t.Kind)]
	return apply.To(targets{c.cfg.Targets.Resource(resource)}, resource.Resource, c.by)
}

// targets is a client for the objects of one kind, without subresources.
type targets struct{ client dynamic.ResourceInterface }

var _ apply.Client[*unstructured.Unstructured] = targets{}

// Get implements apply.Client.
func (t targets) Get(ctx context.Context, name string, opts metav1.GetOptions) (*unstructured.Unstructured, error) {
	return t.client.Get(ctx, name, opts)
}

// Create implements apply.Client.
func (t targets) Create(ctx context.Context, o *unstructured.Unstructured, opts metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return t.client.Create(ctx, o, opts)
}

// Update implements apply.Client.
func (t targets) Update(ctx context.Context, o *unstructured.Unstructured, opts metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return t.client.Update(ctx, o, opts)
}

// Delete implements apply.Client.
func (t targets) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return t.client.Delete(ctx, name, opts)
}
