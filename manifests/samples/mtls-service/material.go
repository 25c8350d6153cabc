// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/controller/reload"
)

// loader keeps a reload.Source up to date, unless it is held.
type loader struct {
	// source is there when loaded is closed.
	source *reload.Source
	loaded chan struct{}
	// resume loads what is there now and follows changes again, pause stops that.
	resume, pause func()
}

// bundleKey is the key of the trust anchors in the bundle.
const bundleKey = "ca-bundle.crt"

// mounted follows the volumes of a pod.
func mounted(ctx context.Context, leaf, bundle string) (*loader, error) {
	files := reload.Files{
		Certificate: filepath.Join(leaf, corev1.TLSCertKey), Key: filepath.Join(leaf, corev1.TLSPrivateKeyKey), Anchors: filepath.Join(bundle, bundleKey),
	}
	source, err := reload.Load(files)
	if err != nil {
		return nil, err
	}
	l, stop, mu := &loader{source: source, loaded: make(chan struct{})}, func() {}, sync.Mutex{}
	close(l.loaded)
	l.pause = func() {
		mu.Lock()
		defer mu.Unlock()
		stop()
	}
	l.resume = func() {
		mu.Lock()
		defer mu.Unlock()
		stop()
		var following context.Context
		following, stop = context.WithCancel(ctx)
		go source.Follow(following, files)
	}
	l.resume()
	return l, nil
}

// watched follows the objects themselves, where there is no kubelet to mount them.
type watched struct {
	loader *loader
	// beside says that the anchors are those of the leaf's Secret.
	beside bool

	mu   sync.Mutex
	held bool
	pem  reload.PEM
}

// watch returns a loader whose first material comes later.
func watch(ctx context.Context, client kubernetes.Interface, namespace, leaf, bundle string) (*loader, error) {
	w := &watched{loader: &loader{loaded: make(chan struct{})}}
	w.loader.pause, w.loader.resume = func() { w.hold(true) }, func() { w.hold(false) }
	only := func(name string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
			}))
	}
	secrets := only(leaf)
	watched := map[informers.SharedInformerFactory]cache.SharedIndexInformer{secrets: secrets.Core().V1().Secrets().Informer()}
	if w.beside = bundle == ""; !w.beside {
		configs := only(bundle)
		watched[configs] = configs.Core().V1().ConfigMaps().Informer()
	}
	for factory, informer := range watched {
		// Deletions are ignored: the program continues with what it has loaded.
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: w.see, UpdateFunc: func(_, obj any) { w.see(obj) }}); err != nil {
			return nil, fmt.Errorf("watch Secret %s and ConfigMap %s: %w", leaf, bundle, err)
		}
		factory.Start(ctx.Done())
	}
	return w.loader, nil
}

func (w *watched) see(obj any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o := obj.(type) {
	case *corev1.Secret:
		w.pem.Certificate, w.pem.Key = o.Data[corev1.TLSCertKey], o.Data[corev1.TLSPrivateKeyKey]
		if w.beside {
			w.pem.Anchors = o.Data[corev1.ServiceAccountRootCAKey]
		}
	case *corev1.ConfigMap:
		w.pem.Anchors = []byte(o.Data[bundleKey])
	}
	w.load()
}

func (w *watched) hold(held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = held
	w.load()
}

// load swaps in what was last seen.
func (w *watched) load() {
	switch source := w.loader.source; {
	case w.held || len(w.pem.Certificate) == 0 || len(w.pem.Anchors) == 0:
	case source != nil:
		if err := source.Take(w.pem); err != nil {
			log.Printf("keep what is loaded: %v", err)
		}
	default:
		source, err := reload.NewSource(w.pem)
		if err != nil {
			log.Printf("nothing is loaded yet: %v", err)
			return
		}
		w.loader.source = source
		close(w.loader.loaded)
	}
}
