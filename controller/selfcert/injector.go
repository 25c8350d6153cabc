// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// AnnotationInject on an APIService or ValidatingWebhookConfiguration names the bundle ConfigMap, as NAMESPACE/NAME,
// whose anchors are to be its CA bundle.
const AnnotationInject = "certrotation.dev/inject-ca-from"

// fieldManager owns the CA bundles.
const fieldManager = "certrotation-ca-injector"

// Bundles is what the Injector asks of registry/view/inventory.
type Bundles interface {
	Sources(namespace string) *inventory.Sources
}

// Injector writes bundles into the registrations of the API. Make one with NewInjector.
type Injector struct {
	kube       kubernetes.Interface
	aggregator aggregator.Interface
	bundles    Bundles
	queue      workqueue.TypedRateLimitingInterface[registration]
	// stores of the registrations by kind.
	stores map[kind]cache.Store
	start  []func(context.Context)
	stop   []func()
}

type kind string

const (
	apiService kind = "APIService"
	webhook    kind = "ValidatingWebhookConfiguration"
)

// registration is an entry of the queue. With a namespace instead of a name it stands for all registrations that take
// their bundle from there.
type registration struct {
	kind      kind
	name      string
	namespace string
}

// NewInjector returns an Injector that does nothing before Run.
func NewInjector(kube kubernetes.Interface, agg aggregator.Interface, bundles Bundles) (*Injector, error) {
	if kube == nil || agg == nil || bundles == nil {
		return nil, errors.New("CA injector: clients and bundles are required")
	}
	core := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTransform(withoutManagedFields))
	services := aggregatorinformers.NewSharedInformerFactoryWithOptions(agg, 0,
		aggregatorinformers.WithTransform(withoutManagedFields))
	i := &Injector{
		kube: kube, aggregator: agg, bundles: bundles,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[registration](100*time.Millisecond, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[registration]{Name: "inject"}),
		stores: map[kind]cache.Store{},
	}
	for k, informer := range map[kind]cache.SharedIndexInformer{
		apiService: services.Apiregistration().V1().APIServices().Informer(),
		webhook:    core.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer(),
	} {
		if err := i.watch(k, informer); err != nil {
			return nil, err
		}
	}
	i.start = []func(context.Context){core.StartWithContext, services.StartWithContext}
	i.stop = []func(){core.Shutdown, services.Shutdown}
	return i, nil
}

func (i *Injector) watch(k kind, informer cache.SharedIndexInformer) error {
	enqueue := func(obj any) {
		if meta, ok := obj.(metav1.Object); ok {
			i.queue.Add(registration{kind: k, name: meta.GetName()})
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", k, err)
	}
	i.stores[k] = informer.GetStore()
	return nil
}

// NamespaceChanged has the registrations looked at that take their bundle from a namespace. It does not block.
func (i *Injector) NamespaceChanged(namespace string) {
	i.queue.Add(registration{namespace: namespace})
}

// Run injects until ctx ends.
func (i *Injector) Run(ctx context.Context) {
	for _, start := range i.start {
		start(ctx)
	}
	var worker sync.WaitGroup
	worker.Go(func() {
		for i.processNext(ctx) {
		}
	})
	<-ctx.Done()
	i.queue.ShutDown()
	worker.Wait()
	for _, stop := range i.stop {
		stop()
	}
}

func (i *Injector) processNext(ctx context.Context) bool {
	r, shutdown := i.queue.Get()
	if shutdown {
		return false
	}
	defer i.queue.Done(r)
	if ctx.Err() != nil {
		return true
	}
	if r.name == "" {
		i.fanOut(r.namespace)
		return true
	}
	err := i.inject(ctx, r)
	switch {
	case err == nil:
		i.queue.Forget(r)
	case apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsNotFound(err):
		klog.FromContext(ctx).V(4).Info("Looking again", "kind", r.kind, "object", r.name, "reason", err.Error())
		i.queue.AddRateLimited(r)
	default:
		klog.FromContext(ctx).Error(err, "Failed to inject a CA bundle, will retry", "kind", r.kind, "object", r.name)
		i.queue.AddRateLimited(r)
	}
	return true
}

func (i *Injector) fanOut(namespace string) {
	for k, store := range i.stores {
		for _, obj := range store.List() {
			if meta, ok := obj.(metav1.Object); ok && strings.HasPrefix(meta.GetAnnotations()[AnnotationInject], namespace+"/") {
				i.queue.Add(registration{kind: k, name: meta.GetName()})
			}
		}
	}
}

// inject brings the CA bundle of one registration up to date.
func (i *Injector) inject(ctx context.Context, r registration) error {
	obj, exists, err := i.stores[r.kind].GetByKey(r.name)
	if err != nil || !exists {
		return err
	}
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil
	}
	bundle := i.bundle(meta.GetAnnotations()[AnnotationInject])
	if len(bundle) == 0 {
		return nil
	}
	patch, err := patchFor(obj, bundle)
	if patch == nil || err != nil {
		return err
	}
	if err := i.patch(ctx, r, patch); err != nil {
		return fmt.Errorf("patch %s %s: %w", r.kind, r.name, err)
	}
	klog.FromContext(ctx).Info("Injected a CA bundle", "kind", r.kind, "object", r.name)
	return nil
}

// bundle returns the PEM of the bundle at NAMESPACE/NAME, nil if there is none that can be used.
func (i *Injector) bundle(from string) []byte {
	namespace, name, ok := strings.Cut(from, "/")
	if !ok {
		return nil
	}
	sources := i.bundles.Sources(namespace)
	if sources == nil || sources.ConfigMaps[name] == nil || sources.ConfigMaps[name].Bundle == nil {
		return nil
	}
	return pki.EncodeCertificates(sources.ConfigMaps[name].Bundle.Anchors...)
}

func (i *Injector) patch(ctx context.Context, r registration, patch []byte) error {
	opts := metav1.PatchOptions{FieldManager: fieldManager}
	var err error
	switch r.kind {
	case apiService:
		_, err = i.aggregator.ApiregistrationV1().APIServices().Patch(ctx, r.name, types.JSONPatchType, patch, opts)
	case webhook:
		_, err = i.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, r.name, types.JSONPatchType, patch, opts)
	}
	return err
}

// withoutManagedFields drops what is long and never looked at.
func withoutManagedFields(obj any) (any, error) {
	if meta, ok := obj.(metav1.Object); ok {
		meta.SetManagedFields(nil)
	}
	return obj, nil
}
