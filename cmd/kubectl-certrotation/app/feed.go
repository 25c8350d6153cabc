// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/informers/externalversions"
)

// change is one event of the feed: an object, the end of the first list, or trouble with the connection.
type change struct {
	object  *v1alpha1.CertificateRotation
	deleted bool
	synced  bool
	trouble error
	// final marks trouble that does not pass: the API server refused the first list.
	final bool
}

// feed is an informer whose events one goroutine reads in order. The informer survives a closed connection, an
// expired resource version and a server restart, which can happen during a rotation.
type feed struct {
	// ready holds a token while changes may be queued.
	ready chan struct{}

	mu    sync.Mutex
	queue []change
}

// newFeed watches the objects that selector selects, until ctx ends. The returned function then waits for the
// goroutines.
func newFeed(ctx context.Context, t *target, selector string) (*feed, func(), error) {
	f := &feed{ready: make(chan struct{}, 1)}
	factory := externalversions.NewSharedInformerFactoryWithOptions(t.client, 0,
		externalversions.WithNamespace(t.namespace),
		externalversions.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = selector }))
	informer := factory.Certrotation().V1alpha1().CertificateRotations().Informer()
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		f.fault(err, informer.HasSynced())
	}); err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", t, err)
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { f.object(obj, false) },
		UpdateFunc: func(_, obj any) { f.object(obj, false) },
		DeleteFunc: func(obj any) { f.object(obj, true) },
	})
	if err != nil {
		return nil, nil, fmt.Errorf("watch %s: %w", t, err)
	}
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	running.Go(func() {
		select {
		case <-handler.HasSyncedChecker().Done():
			f.push(change{synced: true})
		case <-ctx.Done():
		}
	})
	return f, running.Wait, nil
}

func (f *feed) object(obj any, deleted bool) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if o, ok := obj.(*v1alpha1.CertificateRotation); ok {
		f.push(change{object: o, deleted: deleted})
	}
}

// fault records a connection error. The regular end of a watch and an expired resource version are not errors.
func (f *feed) fault(err error, synced bool) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	f.push(change{trouble: err, final: !synced && apierrors.IsForbidden(err)})
}

func (f *feed) push(c change) {
	f.mu.Lock()
	f.queue = append(f.queue, c)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

func (f *feed) take() []change {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.queue
	f.queue = nil
	return out
}
