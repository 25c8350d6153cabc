// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/cluster/workernodes"
)

var seed = flag.Uint64("seed", 1, "of the order in which pods come and go")

// disturbance is the pause between two disturbances. A pod takes seconds to start, and has no evidence until then.
const disturbance = 4 * time.Second

// moving is how many pods may be starting or terminating when the next disturbance begins. With more, a busy
// machine would only make them wait for each other.
const moving = 3

// replicas of the sample, followed by the minimum and the maximum during the test.
var replicas = map[string][3]int32{"server": {3, 2, 4}, "client-a": {2, 1, 3}, "client-b": {2, 1, 3}}

// churn starts and ends pods continuously.
type churn struct {
	s            *system
	random       *rand.Rand
	disturbances map[string]disturb
	pause        time.Duration
	rounds       int
	stop         context.CancelFunc
	done         sync.WaitGroup

	mu sync.Mutex
	// counts of the disturbances, and the first error.
	counts map[string]int
	err    error
	// halting means that only disturbances are done that never succeeded.
	halting bool
}

type disturb func(*churn, context.Context) error

// disturbances by name. Servers end only gracefully, because a killed server cuts connections with any
// certificates.
var disturbances = map[string]disturb{
	"scale":   (*churn).scale,
	"delete":  (*churn).deletePod,
	"evict":   (*churn).evict,
	"restart": (*churn).restart,
	"kill":    (*churn).killClient,
}

// churn runs each disturbance rounds times, with a pause between two, until it is stopped.
func (s *system) churn(t *testing.T, disturbances map[string]disturb, rounds int, pause time.Duration) *churn {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &churn{s: s, random: rand.New(rand.NewPCG(*seed, 0)), disturbances: disturbances, rounds: rounds, pause: pause, stop: stop, counts: map[string]int{}}
	c.done.Go(func() { c.run(ctx) })
	return c
}

// run runs all disturbances of a round in random order. It adds rounds until each disturbance has succeeded once.
func (c *churn) run(ctx context.Context) {
	tick := time.NewTicker(c.pause)
	defer tick.Stop()
	for round := 0; round < c.rounds || c.complete(ctx) != nil; round++ {
		names := slices.Sorted(maps.Keys(c.disturbances))
		c.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			if c.spares(name) {
				continue
			}
			c.do(ctx, name)
			for calm := false; !calm; calm = c.s.calm(ctx) {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		}
	}
}

// spares reports whether a disturbance is not repeated because the churn is about to end.
func (c *churn) spares(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halting && c.counts[name] > 0
}

// calm reports whether few pods are starting or terminating.
func (s *system) calm(ctx context.Context) bool {
	pods, err := s.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	return len(slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !onItsWay(&pod) })) <= moving
}

// onItsWay reports whether a pod is starting or terminating.
func onItsWay(pod *corev1.Pod) bool {
	switch {
	case is(pod, corev1.PodScheduled, corev1.ConditionFalse):
		return false // It waits for a node with room for it.
	case pod.DeletionTimestamp != nil:
		return true
	case pod.Status.Phase == corev1.PodSucceeded:
		return false
	}
	return !is(pod, corev1.PodReady, corev1.ConditionTrue)
}

func is(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
}

// do counts a disturbance. It is no error if the pod is gone or changed meanwhile, or must not be evicted now.
func (c *churn) do(ctx context.Context, name string) {
	err := c.disturbances[name](c, ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.counts[name]++
	case ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsTooManyRequests(err) && c.err == nil:
		c.err = fmt.Errorf("%s: %w", name, err)
	}
}

// complete returns nil if each disturbance has succeeded once.
func (c *churn) complete(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.counts) < len(c.disturbances) && c.err == nil {
		return fmt.Errorf("done were %v", c.counts)
	}
	return nil
}

// end halts the churn, and waits until the sample has its former replicas.
func (c *churn) end(t *testing.T) {
	t.Helper()
	c.halt(t)
	for workload, n := range replicas {
		if err := c.s.scale(t.Context(), workload, n[0]); err != nil {
			t.Error(err)
		}
	}
	until(t, "the sample is as it was", c.s.settled)
}

// halt stops the churn once each disturbance has succeeded.
func (c *churn) halt(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	c.halting = true
	c.mu.Unlock()
	until(t, "each disturbance was done", c.complete)
	c.stop()
	c.done.Wait()
	t.Logf("done to the pods meanwhile: %v", c.counts)
	if c.err != nil {
		t.Errorf("a disturbance failed: %v", c.err)
	}
}

// settled returns nil if the pods are exactly those that the Deployments ask for. A terminating pod is one too
// many.
func (s *system) settled(ctx context.Context) error {
	if err := s.WaitAvailable(ctx); err != nil {
		return err
	}
	pods, err := s.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	want := 0
	for _, n := range replicas {
		want += int(n[0])
	}
	if len(pods.Items) != want {
		return fmt.Errorf("there are %d pods, want %d", len(pods.Items), want)
	}
	return nil
}

func (s *system) scale(ctx context.Context, workload string, n int32) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
	_, err := s.Client.AppsV1().Deployments(namespace).Patch(ctx, workload, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (c *churn) workload() string {
	return workernodes.Workloads[c.random.IntN(len(workernodes.Workloads))]
}

func (c *churn) scale(ctx context.Context) error {
	workload := c.workload()
	least, most := replicas[workload][1], replicas[workload][2]
	return c.s.scale(ctx, workload, least+c.random.Int32N(most-least+1))
}

// pod returns a random ready pod of the workloads.
func (c *churn) pod(ctx context.Context, workloads ...string) (*corev1.Pod, error) {
	ready, err := c.s.ready(ctx, workloads...)
	if err != nil {
		return nil, err
	}
	return &ready[c.random.IntN(len(ready))], nil
}

// ready returns the pods of the workloads that are ready and not terminating. It fails if there is none.
func (s *system) ready(ctx context.Context, workloads ...string) ([]corev1.Pod, error) {
	list, err := s.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	ready := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || !slices.Contains(workloads, pod.Labels["app"]) || !is(&pod, corev1.PodReady, corev1.ConditionTrue)
	})
	if len(ready) == 0 {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), "ready")
	}
	return ready, nil
}

func (c *churn) deletePod(ctx context.Context) error {
	pod, err := c.pod(ctx, workernodes.Workloads...)
	if err != nil {
		return err
	}
	return c.s.Client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
}

func (c *churn) evict(ctx context.Context) error {
	pod, err := c.pod(ctx, workernodes.Workloads...)
	if err != nil {
		return err
	}
	return c.s.Client.PolicyV1().Evictions(namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace}})
}

func (c *churn) restart(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := c.s.Client.AppsV1().Deployments(namespace).Patch(ctx, c.workload(), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (c *churn) killClient(ctx context.Context) error {
	pod, err := c.pod(ctx, "client-a", "client-b")
	if err != nil {
		return err
	}
	node := c.s.Network.Node(pod.Spec.NodeName)
	if _, err := node.RunningContainer(ctx, pod.Name, "client"); err != nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name) // It has ended since it was ready.
	}
	return node.KillContainer(ctx, pod.Name, "client")
}
