// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/view/inventory"
)

// only is the single key of the queue.
const only = "leaf"

// Run implements dynamiccertificates.ControllerRunner. The number of workers is ignored: there is one leaf.
func (p *Provider) Run(ctx context.Context, _ int) {
	logger := klog.FromContext(ctx).WithValues("signer", klog.KRef(p.opts.Namespace, p.opts.SignerSecret))
	ctx = klog.NewContext(ctx, logger)
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0,
		informers.WithNamespace(p.opts.Namespace),
		informers.WithTransform(withoutKeys),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, p.opts.SignerSecret).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { p.queue.Add(only) },
		UpdateFunc: func(any, any) { p.queue.Add(only) },
	}); err != nil {
		logger.Error(err, "Failed to watch the signer")
		return
	}
	factory.StartWithContext(ctx)
	p.queue.Add(only)
	var worker sync.WaitGroup
	worker.Go(func() {
		for p.processNext(ctx, informer.GetStore()) {
		}
	})
	<-ctx.Done()
	p.queue.ShutDown()
	worker.Wait()
	factory.Shutdown()
}

func (p *Provider) processNext(ctx context.Context, store cache.Store) bool {
	item, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(item)
	if ctx.Err() != nil {
		return true
	}
	if err := p.renew(ctx, store); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to mint a serving certificate, will retry")
		p.queue.AddRateLimited(item)
		return true
	}
	p.queue.Forget(item)
	if wait := p.due(); wait > 0 {
		p.queue.AddAfter(item, wait)
	}
	return true
}

// renew mints a leaf if there is none, if its CA was replaced, or if it is due.
func (p *Provider) renew(ctx context.Context, store cache.Store) error {
	if p.due() <= 0 {
		return p.mint(ctx)
	}
	found, exists, err := store.GetByKey(p.opts.Namespace + "/" + p.opts.SignerSecret)
	if err != nil {
		return fmt.Errorf("look up signer: %w", err)
	}
	if secret, ok := found.(*corev1.Secret); exists && ok && p.outdated(secret) {
		return p.mint(ctx)
	}
	return nil
}

// withoutKeys keeps of a Secret its identity and the active certificate.
func withoutKeys(obj any) (any, error) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return obj, nil
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion,
		},
		Type: secret.Type,
		Data: map[string][]byte{inventory.ActiveCertKey: secret.Data[inventory.ActiveCertKey]},
	}, nil
}
