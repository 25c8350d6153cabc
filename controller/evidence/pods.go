// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/nodepod"
)

// podWatches watches pods and the records of revisions in namespaces with static pod members.
type podWatches struct {
	collector *Collector
	running   sync.WaitGroup

	mu    sync.Mutex
	stops map[string]context.CancelFunc
}

// follow starts or stops the watches of a namespace. They end with ctx at the latest.
func (w *podWatches) follow(ctx context.Context, namespace string, wanted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stop, following := w.stops[namespace]
	switch {
	case following && !wanted:
		stop()
		delete(w.stops, namespace)
	case wanted && !following && ctx.Err() == nil:
		ctx, w.stops[namespace] = context.WithCancel(ctx)
		if err := w.start(ctx, namespace); err != nil {
			// Unreachable: an informer that has not started accepts every handler.
			klog.FromContext(ctx).Error(err, "Failed to watch static pods")
		}
	}
}

// wait stops all watches and waits for their end.
func (w *podWatches) wait() {
	w.mu.Lock()
	for _, stop := range w.stops {
		stop()
	}
	w.mu.Unlock()
	w.running.Wait()
}

func (w *podWatches) start(ctx context.Context, namespace string) error {
	pods := informers.NewSharedInformerFactoryWithOptions(w.collector.client, 0, informers.WithNamespace(namespace),
		informers.WithTransform(podFacts)).Core().V1().Pods().Informer()
	statuses := informers.NewSharedInformerFactoryWithOptions(w.collector.client, 0, informers.WithNamespace(namespace),
		informers.WithTransform(withoutData), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = nodepod.LabelRollout
		})).Core().V1().ConfigMaps().Informer()
	if _, err := pods.AddEventHandlerWithOptions(w.podHandler(namespace), cache.HandlerOptions{}); err != nil {
		return err
	}
	if _, err := statuses.AddEventHandlerWithOptions(w.statusHandler(namespace), cache.HandlerOptions{}); err != nil {
		return err
	}
	w.running.Go(func() { pods.RunWithContext(ctx) })
	w.running.Go(func() { statuses.RunWithContext(ctx) })
	return nil
}

func (w *podWatches) podHandler(namespace string) cache.ResourceEventHandler {
	changed := func(object any) {
		if pod := objectOf[*corev1.Pod](object); pod != nil {
			w.collector.podChanged(namespace, pod)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed,
		UpdateFunc: func(before, after any) {
			x, y := objectOf[*corev1.Pod](before), objectOf[*corev1.Pod](after)
			if x == nil || y == nil || !samePod(x, y) {
				changed(after)
			}
		},
	}
}

// statusHandler handles the annotations that list the nodes on which a revision was installed.
func (w *podWatches) statusHandler(namespace string) cache.ResourceEventHandler {
	annotations := func(object any) map[string]string {
		if configMap := objectOf[*corev1.ConfigMap](object); configMap != nil {
			return configMap.Annotations
		}
		return nil
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.collector.statusChanged(namespace, nil, annotations(object)) },
		UpdateFunc: func(x, y any) { w.collector.statusChanged(namespace, annotations(x), annotations(y)) },
		DeleteFunc: func(object any) { w.collector.statusChanged(namespace, annotations(object), nil) },
	}
}

func objectOf[T any](object any) T {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	out, _ := object.(T)
	return out
}

// podChanged enqueues the members on the node of a pod.
func (c *Collector) podChanged(namespace string, pod *corev1.Pod) {
	n := c.inventory.Namespace(namespace)
	if n == nil {
		return
	}
	for _, r := range n.Rollouts {
		if nodepod.Concerns(r.Config.StaticPods(), pod) {
			c.nodeChanged(namespace, pod.Spec.NodeName)
			return
		}
	}
}

func (c *Collector) nodeChanged(namespace, node string) {
	c.lookAgain(namespace, func(s *subject) bool { return s.placed() && s.target.member == node })
}

// statusChanged enqueues the members for which the record of a revision has changed.
func (c *Collector) statusChanged(namespace string, before, after map[string]string) {
	c.lookAgain(namespace, func(s *subject) bool {
		key := nodepod.InstalledAnnotation(s.target.member)
		return s.placed() && before[key] != after[key]
	})
}

func (c *Collector) lookAgain(namespace string, concerned func(*subject) bool) {
	n := c.inventory.Namespace(namespace)
	if n == nil {
		return
	}
	for _, d := range n.Domains {
		for _, s := range observed(d) {
			if concerned(s) {
				c.queue.Add(s.target)
			}
		}
	}
}

// podFacts keeps only the fields of a pod that matter.
func podFacts(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		DeletionTimestamp: pod.DeletionTimestamp, Annotations: map[string]string{},
	}}
	for _, key := range []string{nodepod.AnnotationRestartHash, nodepod.AnnotationRevision, corev1.MirrorPodAnnotationKey} {
		if value, ok := pod.Annotations[key]; ok {
			out.Annotations[key] = value
		}
	}
	out.Spec.NodeName, out.Status.Phase = pod.Spec.NodeName, pod.Status.Phase
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			out.Status.Conditions = []corev1.PodCondition{{Type: condition.Type, Status: condition.Status}}
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, corev1.ContainerStatus{Name: status.Name, State: status.State})
	}
	return out, nil
}

func samePod(x, y *corev1.Pod) bool {
	x, y = x.DeepCopy(), y.DeepCopy()
	x.ResourceVersion, y.ResourceVersion = "", ""
	return equality.Semantic.DeepEqual(x, y)
}

// withoutData keeps only that the record of a revision exists, and where the revision was installed.
func withoutData(object any) (any, error) {
	configMap, ok := object.(*corev1.ConfigMap)
	if !ok {
		return object, nil
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: configMap.Namespace, Name: configMap.Name, UID: configMap.UID, ResourceVersion: configMap.ResourceVersion,
		Annotations: configMap.Annotations,
	}}, nil
}
