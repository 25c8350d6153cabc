// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"certrotation.dev/apis/certrotation/v1alpha1"
	certrotationclient "certrotation.dev/generated/clientset/versioned/typed/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const bootstrapTimeout = 5 * time.Minute

// unthrottled leaves it to kube-apiserver to limit the controller's requests.
var unthrottled = []string{"--kube-api-qps=5000", "--kube-api-burst=5000"}

// bootstrap measures from the creation of a configuration until the API shows every certificate Ready.
func (b *bench) bootstrap(ctx context.Context) error {
	processes := []string{installation.Controller, installation.Serve, cluster.APIServer, cluster.Etcd}
	t := &table{
		Title:   fmt.Sprintf("Bootstrap by the controller: a namespace of %d leaves, from the configuration to all Ready", b.opts.leaves),
		Notes:   []string{"The controller writes one object of a trust domain at a time, each with its own key. Default flags allow it 200 requests/s; requests are those of its own metrics."},
		Columns: []string{"key and flags", "seconds", "leaves/s", "requests/leaf"},
	}
	for _, process := range processes {
		t.Columns = append(t.Columns, "CPU-s: "+process)
	}
	for _, c := range []struct {
		name  string
		key   pki.KeyAlgorithm
		flags []string
	}{
		{name: "ECDSA-P256, default flags", key: pki.ECDSAP256},
		{name: "ECDSA-P256, no client limit", key: pki.ECDSAP256, flags: unthrottled},
		{name: "RSA-2048, no client limit", key: pki.RSA2048, flags: unthrottled},
	} {
		if err := b.install(ctx, c.flags...); err != nil {
			return err
		}
		d := newDomain(fmt.Sprintf("bench-boot-%d", len(t.Rows)), c.key, b.opts.leaves)
		m, requests, err := b.bootstrapOnce(ctx, c.name, d)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		b.report.Measurements = append(b.report.Measurements, m)
		seconds := m.Rounds[0].Milliseconds[0] / 1000
		row := []string{c.name, number(seconds), number(float64(b.opts.leaves) / seconds), number(requests / float64(b.opts.leaves))}
		for _, process := range processes {
			row = append(row, number(m.Rounds[0].CPU[process]))
		}
		t.Rows = append(t.Rows, row)
		b.say("%s: %s s", c.name, row[1])
	}
	b.report.print(t)
	return nil
}

// bootstrapOnce also returns how many requests the controller has made.
func (b *bench) bootstrapOnce(ctx context.Context, name string, d *domain) (*measurement, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, bootstrapTimeout)
	defer cancel()
	if err := b.leading(ctx); err != nil {
		return nil, 0, err
	}
	if err := b.createNamespace(ctx, d); err != nil {
		return nil, 0, err
	}
	rotations := b.rotations.CertrotationV1alpha1().CertificateRotations(d.namespace)
	requests, err := b.controllerRequests(ctx)
	if err != nil {
		return nil, 0, err
	}
	before, err := b.cpu()
	if err != nil {
		return nil, 0, err
	}
	begun := time.Now()
	if err := b.configure(ctx, d); err != nil {
		return nil, 0, err
	}
	if err := allReady(ctx, rotations, len(d.leaves)+1); err != nil {
		return nil, 0, err
	}
	took := time.Since(begun)
	after, err := b.cpu()
	if err != nil {
		return nil, 0, err
	}
	made, err := b.controllerRequests(ctx)
	if err != nil {
		return nil, 0, err
	}
	m := &measurement{Section: "bootstrap", Name: name, Size: len(d.leaves), Rounds: []round{{Milliseconds: []float64{milliseconds(took)}, CPU: spent(before, after)}}}
	return m, made - requests, nil
}

// allReady returns once want certificates are Ready at the same time. Like an informer, it lists again when a
// watch ends or its resource version is too old.
func allReady(ctx context.Context, rotations certrotationclient.CertificateRotationInterface, want int) error {
	ready := sets.New[string]()
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return rotations.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return rotations.Watch(ctx, opts)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, lists, &v1alpha1.CertificateRotation{}, nil, func(event watch.Event) (bool, error) {
		rotation, ok := event.Object.(*v1alpha1.CertificateRotation)
		switch {
		case !ok:
			return false, fmt.Errorf("the watch sent %s %T", event.Type, event.Object)
		case event.Type != watch.Deleted && meta.IsStatusConditionTrue(rotation.Status.Conditions, v1alpha1.ConditionReady):
			ready.Insert(rotation.Name)
		default:
			ready.Delete(rotation.Name)
		}
		return ready.Len() >= want, nil
	})
	if err != nil {
		return fmt.Errorf("%d of %d certificates are Ready: %w", ready.Len(), want, err)
	}
	return nil
}
