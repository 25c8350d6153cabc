// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// live is the unchecked content of the API objects.
type live struct {
	mu              sync.Mutex
	bundle          []byte
	certPEM, keyPEM []byte
	// changed has a token after each change.
	changed chan struct{}
}

func newLive() *live { return &live{changed: make(chan struct{}, 1)} }

func (l *live) follow(ctx context.Context, client kubernetes.Interface, cfg *Config) error {
	bundles := single(client, cfg.Bundle)
	if _, err := bundles.Core().V1().ConfigMaps().Informer().AddEventHandler(onChange(func(obj any) {
		if config, ok := obj.(*corev1.ConfigMap); ok {
			l.set(func() { l.bundle = []byte(config.Data[cfg.BundleKey]) })
		}
	})); err != nil {
		return err
	}
	leaves := single(client, cfg.Leaf)
	if _, err := leaves.Core().V1().Secrets().Informer().AddEventHandler(onChange(func(obj any) {
		if secret, ok := obj.(*corev1.Secret); ok {
			l.set(func() { l.certPEM, l.keyPEM = secret.Data[leafCertificate], secret.Data[leafKey] })
		}
	})); err != nil {
		return err
	}
	for _, factory := range []informers.SharedInformerFactory{bundles, leaves} {
		factory.Start(ctx.Done())
		defer factory.Shutdown()
	}
	<-ctx.Done()
	return nil
}

// single returns a factory whose informers see one object.
func single(client kubernetes.Interface, object types.NamespacedName) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(object.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, object.Name).String()
		}))
}

// onChange ignores deletions: what is loaded stays until a new object replaces it.
func onChange(f func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, obj any) { f(obj) }}
}

func (l *live) set(change func()) {
	l.mu.Lock()
	change()
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// get returns the newest content seen, nil for an object that was not seen yet.
func (l *live) get() (bundle, certPEM, keyPEM []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bundle, l.certPEM, l.keyPEM
}
