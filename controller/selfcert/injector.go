// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package selfcert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/worker"
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
	queue      *worker.Queue[registration]
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
		kube: kube, aggregator: agg, bundles: bundles, stores: map[kind]cache.Store{},
	}
	i.queue = worker.New(worker.Config[registration]{
		Name: "inject", Work: i.work, Workers: 1, FirstRetry: 100 * time.Millisecond, LastRetry: time.Minute, Clock: clock.RealClock{},
		Describe: func(r registration) []any { return []any{"kind", r.kind, "object", r.name} },
		Benign:   []func(error) bool{apierrors.IsInvalid, apierrors.IsNotFound},
	})
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
	i.queue.Run(ctx)
	for _, stop := range i.stop {
		stop()
	}
}

func (i *Injector) work(ctx context.Context, r registration) error {
	if r.name == "" {
		i.fanOut(r.namespace)
		return nil
	}
	return i.inject(ctx, r)
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

// operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patchFor returns the JSON patch that gives a registration its CA bundle, nil if it has it. The patch fails if the
// object is not the one that was looked at, because webhooks are addressed by their position.
func patchFor(obj any, bundle []byte) ([]byte, error) {
	var (
		version string
		sets    []operation
	)
	set := func(path string, have []byte) {
		if !bytes.Equal(have, bundle) {
			sets = append(sets, operation{Op: "add", Path: path, Value: bundle})
		}
	}
	switch o := obj.(type) {
	case *apiregistrationv1.APIService:
		version = o.ResourceVersion
		// A local APIService is served by the API server itself.
		if o.Spec.Service != nil {
			set("/spec/caBundle", o.Spec.CABundle)
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		version = o.ResourceVersion
		for n := range o.Webhooks {
			set(fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", n), o.Webhooks[n].ClientConfig.CABundle)
		}
	}
	if len(sets) == 0 {
		return nil, nil
	}
	test := operation{Op: "test", Path: "/metadata/resourceVersion", Value: version}
	patch, err := json.Marshal(append([]operation{test}, sets...))
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return patch, nil
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
