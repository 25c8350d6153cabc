// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// turns follows the pods of a StatefulSet with a watch, because polling could miss a change.
type turns struct {
	stop    context.CancelFunc
	factory informers.SharedInformerFactory

	mu sync.Mutex
	// ready are the pods that were ready once. midst are the members without such a pod, or whose pod terminates.
	ready map[types.UID]bool
	midst map[string]bool
	// made counts the pods made since the beginning. together are members that were restarting at the same time.
	made     int
	together []string
}

// watchTurns follows the members of a StatefulSet. All of them must be ready.
func (s *system) watchTurns(t *testing.T, app string) *turns {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	o := &turns{stop: stop, ready: map[types.UID]bool{}, midst: map[string]bool{}}
	o.factory = informers.NewSharedInformerFactoryWithOptions(s.Client, 0, informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "app=" + app }))
	followed, err := o.factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(pod any, initial bool) { o.see(pod, !initial, false) },
		UpdateFunc: func(_, pod any) { o.see(pod, false, false) },
		DeleteFunc: func(pod any) { o.see(pod, false, true) },
	})
	if err != nil {
		t.Fatal(err)
	}
	o.factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), followed.HasSynced) {
		t.Fatal("the pods are not followed")
	}
	return o
}

func (o *turns) see(object any, made, gone bool) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return // The next list shows what was missed.
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if made {
		o.made++
	}
	if is(pod, corev1.PodReady, corev1.ConditionTrue) {
		o.ready[pod.UID] = true
	}
	if delete(o.midst, pod.Name); gone || pod.DeletionTimestamp != nil || !o.ready[pod.UID] {
		o.midst[pod.Name] = true
	}
	if len(o.midst) > 1 && o.together == nil {
		for name := range o.midst {
			o.together = append(o.together, name)
		}
		slices.Sort(o.together)
	}
}

// end fails the test if two members restarted at the same time, or if another number of pods was made.
func (o *turns) end(t *testing.T, made int) {
	t.Helper()
	o.stop()
	o.factory.Shutdown()
	o.mu.Lock()
	defer o.mu.Unlock()
	t.Logf("%d pods were made, members in the midst of their turns at once: %v", o.made, o.together)
	if o.made != made || o.together != nil {
		t.Errorf("%d pods were made, want %d, one after the other; at once: %v", o.made, made, o.together)
	}
}
