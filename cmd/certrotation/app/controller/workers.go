// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/cabundle"
	"certrotation.dev/controller/cleaner"
	"certrotation.dev/controller/copies"
	"certrotation.dev/controller/dial"
	"certrotation.dev/controller/etcdhealth"
	"certrotation.dev/controller/evidence"
	"certrotation.dev/controller/issuer"
	"certrotation.dev/controller/remote"
	"certrotation.dev/controller/rollout/staticpod"
	"certrotation.dev/controller/rollout/workload"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

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
	_ worker = (*cabundle.Controller)(nil)
	_ worker = (*workload.Controller)(nil)
)

// parts are shared by several workers.
type parts struct {
	inventory *inventory.Inventory
	recorder  events.EventRecorder
	quorum    *etcdhealth.Checker
	failures  *dial.Failures
	collector *evidence.Collector
}

// workers makes the workers and subscribes them to the inventory's changes.
func (c *Config) workers(inv *inventory.Inventory, recorder events.EventRecorder) ([]worker, error) {
	failures := dial.NewFailures()
	failures.Register(c.Metrics)
	checker, err := etcdhealth.New(etcdhealth.Config{Client: c.Client, Dial: c.Dialer.DialContext, Failures: failures, Metrics: c.Metrics})
	if err != nil {
		return nil, err
	}
	p := &parts{
		failures: failures, inventory: inv, recorder: recorder, quorum: checker,
	}
	var workers []worker
	for _, add := range []func(*parts) ([]worker, error){c.rotations, c.rollouts, c.followers, c.injector} {
		more, err := add(p)
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

// rotations perform the steps of the model, on the evidence of the collector.
func (c *Config) rotations(p *parts) ([]worker, error) {
	own := c.Own.ConfigV1alpha1()
	waits := evidence.NewWaits()
	waits.Register(c.Metrics)
	collector, err := evidence.New(evidence.Config{
		Client: c.Client, Records: own, Inventory: p.inventory, Targets: c.Dynamic, Concurrency: c.Probes, Quorum: p.quorum,
		CertManager: c.CertManagerAnnotations, HandshakesPerSecond: c.HandshakesPerSecond, Dial: c.Dialer.DialContext, Failures: p.failures, Waits: waits,
	})
	if err != nil {
		return nil, err
	}
	rotations, err := rotation.New(rotation.Config{
		Client: c.Client, Records: own, Inventory: p.inventory, Evidence: collector, Skew: c.Clock, Recorder: p.recorder,
		Issuer:  &issuer.CertManager{Core: c.Client, Dynamic: c.Dynamic, Clock: clock.RealClock{}},
		Metrics: c.Metrics, Workers: c.Workers,
	})
	if err != nil {
		return nil, err
	}
	collector.OnLookedOnce(rotations.NamespaceChanged)
	p.collector = collector
	return []worker{rotations, collector}, nil
}

// rollouts bring revisions to static pods, and restart workloads that do not reload.
func (c *Config) rollouts(p *parts) ([]worker, error) {
	rollouts, err := staticpod.New(staticpod.Config{
		Client: c.Client, Inventory: p.inventory, Quorum: p.quorum, Recorder: p.recorder, Metrics: c.Metrics,
	})
	if err != nil {
		return nil, err
	}
	restarts, err := workload.New(workload.Config{
		Client: c.Client, Own: c.Own.ConfigV1alpha1(), Inventory: p.inventory, Due: trust.Restarts, Members: p.quorum, Enabled: c.RestartWorkloads,
		SystemNamespace: c.LeaderElection.ResourceNamespace, Recorder: p.recorder, Metrics: c.Metrics,
	})
	if err != nil {
		return nil, err
	}
	return []worker{rollouts, restarts}, nil
}

// followers maintain copies, and clean up after nodes that left.
func (c *Config) followers(p *parts) ([]worker, error) {
	clusters, err := remote.New(remote.Config{Client: c.Client, Dial: c.Dialer.DialContext})
	if err != nil {
		return nil, err
	}
	copying, err := copies.New(copies.Config{
		Client: c.Client, Configurations: c.Own.ConfigV1alpha1(), Metadata: c.Metadata, Inventory: p.inventory, Recorder: p.recorder,
		Clusters: clusters, Metrics: c.Metrics, Namespaces: c.Namespaces,
	})
	if err != nil {
		return nil, err
	}
	cleaning, err := cleaner.New(cleaner.Config{
		Client: c.Client, Records: c.Own.ConfigV1alpha1(), Inventory: p.inventory, Recorder: p.recorder, Skew: c.Clock,
	})
	if err != nil {
		return nil, err
	}
	return []worker{copying, cleaning}, nil
}

// injector maintains the CA bundles of our APIService and of other objects that request one, unless that is disabled.
func (c *Config) injector(p *parts) ([]worker, error) {
	if !c.Inject {
		return nil, nil
	}
	injector, err := cabundle.New(cabundle.Config{
		Targets: c.Dynamic, Metadata: c.Metadata, Client: c.Client, Configurations: c.Own.ConfigV1alpha1(), Inventory: p.inventory,
		Recorder: p.recorder, Wrote: p.collector.TargetWritten, Every: c.EveryTarget, CertManager: c.CertManagerAnnotations, Metrics: c.Metrics,
		Installation: c.Installation,
	})
	if err != nil {
		return nil, err
	}
	return []worker{injector}, nil
}
