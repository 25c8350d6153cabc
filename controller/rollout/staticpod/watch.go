// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watches enqueue namespaces when a pod changes in a namespace with a rollout, or when a node's readiness changes.
// Decisions use live reads. The inventory reports changes of ConfigMaps and Secrets.
type watches struct {
	client  kubernetes.Interface
	changed func(namespace string)

	mu sync.Mutex
	// ctx is nil before start and after stop. running ends the watches of pods, by namespace; nodes ends the watch of
	// nodes, nil if there is none.
	ctx     context.Context //nolint:containedctx // watches begin and end with what the configurations ask for
	running map[string]context.CancelFunc
	nodes   context.CancelFunc
	all     sync.WaitGroup
}

func newWatches(client kubernetes.Interface, changed func(string)) *watches {
	return &watches{client: client, changed: changed, running: map[string]context.CancelFunc{}}
}

func (w *watches) start(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
}

func (w *watches) stop() {
	w.mu.Lock()
	w.ctx = nil
	for namespace, end := range w.running {
		end()
		delete(w.running, namespace)
	}
	if w.nodes != nil {
		w.nodes()
		w.nodes = nil
	}
	w.mu.Unlock()
	w.all.Wait()
}

// keep starts or ends the watch of a namespace's pods. The first one also starts the watch of nodes.
func (w *watches) keep(namespace string, wanted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end, running := w.running[namespace]
	switch {
	case w.ctx == nil || wanted == running:
	case wanted:
		w.running[namespace] = w.begin(w.pods(namespace), &corev1.Pod{}, func(any) { w.changed(namespace) })
	default:
		end()
		delete(w.running, namespace)
	}
	if len(w.running) > 0 && w.nodes == nil {
		w.nodes = w.begin(w.allNodes(), &corev1.Node{}, func(any) { w.everywhere() })
	}
}

func (w *watches) everywhere() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for namespace := range w.running {
		w.changed(namespace)
	}
}

// begin requires that the caller holds mu.
func (w *watches) begin(lw cache.ListerWatcher, example runtime.Object, changed func(any)) context.CancelFunc {
	ctx, end := context.WithCancel(w.ctx)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lw, ObjectType: example, Transform: essence,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: changed,
			UpdateFunc: func(before, after any) {
				if differs(before, after) {
					changed(after)
				}
			},
			DeleteFunc: changed,
		},
	})
	w.all.Go(func() { informer.RunWithContext(ctx) })
	return end
}

func (w *watches) pods(namespace string) cache.ListerWatcher {
	pods := w.client.CoreV1().Pods(namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, opts)
		},
	}, w.client)
}

func (w *watches) allNodes() cache.ListerWatcher {
	nodes := w.client.CoreV1().Nodes()
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return nodes.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return nodes.Watch(ctx, opts)
		},
	}, w.client)
}

// essence reduces an object to what a change is recognized by: its identity, and the readiness of a node.
func essence(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Node:
		out := &corev1.Node{ObjectMeta: identity(&o.ObjectMeta)}
		for _, c := range o.Status.Conditions {
			if c.Type == corev1.NodeReady {
				out.Status.Conditions = []corev1.NodeCondition{c}
			}
		}
		return out, nil
	case *corev1.Pod:
		return &corev1.Pod{ObjectMeta: identity(&o.ObjectMeta)}, nil
	}
	return object, nil
}

func identity(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}

// differs reports whether a change matters: every change of a pod, and of a node only what essence keeps.
func differs(before, after any) bool {
	x, okX := before.(*corev1.Node)
	y, okY := after.(*corev1.Node)
	if !okX || !okY {
		return true
	}
	readyX, whyX := readiness(x)
	readyY, whyY := readiness(y)
	return x.UID != y.UID || readyX != readyY || whyX != whyY
}
