// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/client-go/tools/events"

	"certrotation.dev/controller/cleaner"
	"certrotation.dev/controller/copies"
	"certrotation.dev/controller/evidence"
	"certrotation.dev/controller/quorum"
	"certrotation.dev/controller/rollout/staticpod"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/controller/selfcert"
	"certrotation.dev/registry/view/inventory"
)

// worker is one part of the controller.
type worker interface {
	NamespaceChanged(namespace string)
	Run(ctx context.Context)
}

var (
	_ worker = (*rotation.Controller)(nil)
	_ worker = (*evidence.Collector)(nil)
	_ worker = (*staticpod.Controller)(nil)
	_ worker = (*copies.Controller)(nil)
	_ worker = (*cleaner.Controller)(nil)
)

// workers makes the parts of the controller and has them told of changes.
func (c *Config) workers(inv *inventory.Inventory, recorder events.EventRecorder) ([]worker, error) {
	var workers []worker
	for _, add := range []func(*inventory.Inventory, events.EventRecorder) ([]worker, error){
		c.rotations, c.rollouts, c.followers, c.injector,
	} {
		more, err := add(inv, recorder)
		if err != nil {
			return nil, err
		}
		workers = append(workers, more...)
	}
	for _, w := range workers {
		inv.OnChange(w.NamespaceChanged)
	}
	return workers, nil
}

// rotations perform what the model says, on the evidence that the collector brings.
func (c *Config) rotations(inv *inventory.Inventory, recorder events.EventRecorder) ([]worker, error) {
	collector, err := evidence.New(evidence.Config{Client: c.Client, Inventory: inv, Concurrency: c.Probes})
	if err != nil {
		return nil, err
	}
	config := rotation.Config{
		Client: c.Client, Inventory: inv, Evidence: collector, Recorder: recorder, Metrics: c.Metrics, Workers: c.Workers,
	}
	if c.Clock != nil {
		config.Assess = c.Clock.Assess
	}
	rotations, err := rotation.New(config)
	if err != nil {
		return nil, err
	}
	return []worker{rotations, collector}, nil
}

// rollouts bring revisions to static pods.
func (c *Config) rollouts(inv *inventory.Inventory, recorder events.EventRecorder) ([]worker, error) {
	checker, err := quorum.New(quorum.Config{Client: c.Client, Metrics: c.Metrics})
	if err != nil {
		return nil, err
	}
	rollouts, err := staticpod.New(staticpod.Config{Client: c.Client, Inventory: inv, Quorum: checker, Recorder: recorder, Metrics: c.Metrics})
	if err != nil {
		return nil, err
	}
	return []worker{rollouts}, nil
}

// followers keep copies, and clean up after nodes that left.
func (c *Config) followers(inv *inventory.Inventory, recorder events.EventRecorder) ([]worker, error) {
	copying, err := copies.New(copies.Config{Client: c.Client, Metadata: c.Metadata, Inventory: inv, Recorder: recorder, Metrics: c.Metrics})
	if err != nil {
		return nil, err
	}
	config := cleaner.Config{Client: c.Client, Inventory: inv, Recorder: recorder}
	if c.Clock != nil {
		config.Assess = c.Clock.Assess
	}
	cleaning, err := cleaner.New(config)
	if err != nil {
		return nil, err
	}
	return []worker{copying, cleaning}, nil
}

// injector keeps the CA bundles of registrations, unless it is not wanted.
func (c *Config) injector(inv *inventory.Inventory, _ events.EventRecorder) ([]worker, error) {
	if c.Aggregator == nil {
		return nil, nil
	}
	injector, err := selfcert.NewInjector(c.Client, c.Aggregator, inv)
	if err != nil {
		return nil, err
	}
	return []worker{injector}, nil
}
