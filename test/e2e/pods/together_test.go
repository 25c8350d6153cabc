// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/cluster/workernodes"
)

// togetherPatience bounds the rotation of everything. etcd restarts one member after the other, and its
// kube-apiserver restarts twice.
const togetherPatience = 12 * time.Minute

// TestEverythingRotatesTogether rotates the signers of the sample, the webhook and the hosted control planes at
// once. Meanwhile pods of all of them start and end, a node is drained, and another one joins.
func TestEverythingRotatesTogether(t *testing.T) {
	s := theSystem(t)
	s.installOthers(t)
	domains := []*system{s, s.of(workernodes.WebhookNamespace, "parcels-signer")}
	for _, hosted := range workernodes.HostedNamespaces {
		domains = append(domains, s.of(hosted, "etcd-signer"), s.of(hosted, "etcd-peer-signer"))
	}
	until(t, "all are at rest", func(ctx context.Context) error { return s.WaitHosted(ctx) })
	traffic, witness, templates := s.measure(t), watch(t, domains...), s.followTemplates(t)
	sample, others := s.churn(t, disturbances, 2, disturbance), s.churn(t, otherDisturbances, 1, 2*disturbance)
	before := make([]string, len(domains))
	for i, domain := range domains {
		before[i] = domain.rotate(t)
	}
	s.exchangeNode(t, "worker-1", "worker-4")
	rotated(t, domains, before)
	others.halt(t)
	sample.end(t)
	within(t, togetherPatience, "all pods are available", s.WaitHosted)
	s.writes(t)
	traffic.end(t)
	witness.end(t)
	templates.end(t)
}

// rotated waits until the signers of all trust domains are Stable with other CAs than before.
func rotated(t *testing.T, domains []*system, before []string) {
	t.Helper()
	begun, done := time.Now(), map[*system]bool{}
	within(t, togetherPatience, "all signers are rotated", func(ctx context.Context) error {
		var errs []error
		for i, domain := range domains {
			if done[domain] {
				continue
			}
			if err := domain.isRotated(ctx, before[i]); err != nil {
				errs = append(errs, fmt.Errorf("%s/%s: %w", domain.namespace, domain.signer, err))
				continue
			}
			done[domain] = true
			t.Logf("%s/%s is rotated %.0f s after the node was exchanged", domain.namespace, domain.signer, time.Since(begun).Seconds())
		}
		return errors.Join(errs...)
	})
}

// of returns the system with another trust domain.
func (s *system) of(namespace, signer string) *system {
	out := *s
	out.namespace, out.signer = namespace, signer
	return &out
}

// installOthers runs the samples webhook-server and hosted-etcd until the end of the test. Their objects stay,
// without pods.
func (s *system) installOthers(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()
		if t.Failed() {
			s.tellOthers(ctx, t)
		}
		if err := s.endSamples(ctx, append([]string{workernodes.WebhookNamespace}, workernodes.HostedNamespaces...)...); err != nil {
			t.Errorf("end the other samples: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.InstallWebhook(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.InstallHosted(ctx); err != nil {
		t.Fatal(err)
	}
}

// endSamples ends the programs that use samples, and then the pods of the samples. In the other order, calls would
// fail.
func (s *system) endSamples(ctx context.Context, namespaces ...string) error {
	err := s.StopWitnesses(ctx)
	for _, namespace := range namespaces {
		_, scaled := s.Kubectl(ctx, "scale", "-n", namespace, "--replicas=0", "--all", "deployments,statefulsets")
		err = errors.Join(err, scaled)
	}
	return err
}

// tellOthers logs the objects of the other samples if the test has failed.
func (s *system) tellOthers(ctx context.Context, t *testing.T) {
	for _, namespace := range append([]string{workernodes.WebhookNamespace}, workernodes.HostedNamespaces...) {
		for _, what := range []string{"pods,statefulsets,deployments,certificaterotations", "events"} {
			out, err := s.Kubectl(ctx, "get", what, "-n", namespace, "-o", "wide")
			t.Logf("%s\n%s (%v)", namespace, out, err)
		}
	}
}

// otherDisturbances are those of the webhook and of the hosted control planes. They do nothing if a disruption
// budget forbids it, for example for a second member of etcd.
var otherDisturbances = map[string]disturb{
	"evict a member of etcd": func(c *churn, ctx context.Context) error { return c.evictOf(ctx, c.hosted(), "etcd") },
	"evict a kube-apiserver": func(c *churn, ctx context.Context) error { return c.evictOf(ctx, c.hosted(), "kube-apiserver") },
	"evict a webhook server": func(c *churn, ctx context.Context) error {
		return c.evictOf(ctx, workernodes.WebhookNamespace, "parcels")
	},
	"scale the webhook":        (*churn).scaleWebhook,
	"restart the webhook":      (*churn).restartWebhook,
	"delete a webhook server":  (*churn).deleteWebhook,
	"scale the kube-apiserver": (*churn).scaleAPIServer,
}

func (c *churn) hosted() string {
	return workernodes.HostedNamespaces[c.random.IntN(len(workernodes.HostedNamespaces))]
}

func (c *churn) podOf(ctx context.Context, namespace, workload string) (*corev1.Pod, error) {
	ready, err := c.s.of(namespace, "").ready(ctx, workload)
	if err != nil {
		return nil, err
	}
	return &ready[c.random.IntN(len(ready))], nil
}

func (c *churn) evictOf(ctx context.Context, namespace, workload string) error {
	pod, err := c.podOf(ctx, namespace, workload)
	if err != nil {
		return err
	}
	return c.s.evict(ctx, pod)
}

func (s *system) evict(ctx context.Context, pod *corev1.Pod) error {
	return s.Client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}})
}

func (c *churn) patch(ctx context.Context, namespace, deployment, patch string) error {
	_, err := c.s.Client.AppsV1().Deployments(namespace).Patch(ctx, deployment, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (c *churn) scaleWebhook(ctx context.Context) error {
	return c.patch(ctx, workernodes.WebhookNamespace, "parcels", fmt.Sprintf(`{"spec":{"replicas":%d}}`, 3+c.random.IntN(2)))
}

func (c *churn) scaleAPIServer(ctx context.Context) error {
	return c.patch(ctx, c.hosted(), "kube-apiserver", fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+c.random.IntN(2)))
}

func (c *churn) restartWebhook(ctx context.Context) error {
	return c.patch(ctx, workernodes.WebhookNamespace, "parcels",
		fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano)))
}

// deleteWebhook deletes a pod, which ignores disruption budgets. It leaves two pods, because calls fail if no pod
// answers.
func (c *churn) deleteWebhook(ctx context.Context) error {
	ready, err := c.s.of(workernodes.WebhookNamespace, "").ready(ctx, "parcels")
	if err != nil || len(ready) < 3 {
		return err
	}
	pod := &ready[c.random.IntN(len(ready))]
	return c.s.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
}

// exchangeNode drains a node, adds another one, and lets pods return. A member of etcd waits for its node, which
// has its data.
func (s *system) exchangeNode(t *testing.T, leaves, joins string) {
	t.Helper()
	cordon(t, s, leaves, true)
	evicted := map[types.UID]bool{}
	within(t, togetherPatience, leaves+" is drained", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + leaves})
		if err != nil {
			return err
		}
		left := 0
		for i := range pods.Items {
			pod := &pods.Items[i]
			if evicted[pod.UID] || pod.DeletionTimestamp != nil {
				continue
			}
			switch err := s.evict(ctx, pod); {
			case err == nil:
				evicted[pod.UID] = true
			case apierrors.IsTooManyRequests(err):
				left++
			case !apierrors.IsNotFound(err):
				return err
			}
		}
		if left > 0 {
			return fmt.Errorf("%d pods may not be evicted now", left)
		}
		return nil
	})
	if err := s.Join(t.Context(), joins); err != nil {
		t.Fatal(err)
	}
	cordon(t, s, leaves, false)
	t.Logf("%s is drained of %d pods, and %s has joined", leaves, len(evicted), joins)
}

// writes waits until every acknowledged write was checked. It fails the test if a write is lost or there are too
// few.
func (s *system) writes(t *testing.T) {
	t.Helper()
	for _, hosted := range workernodes.HostedNamespaces {
		var now counted
		at := func(ctx context.Context) (err error) {
			now, err = countedAt(ctx, s.WitnessURL(workernodes.Writer(hosted)))
			return err
		}
		until(t, "the writer tells what it has counted", at)
		before := now
		until(t, "it has looked for its writes once more, and for 100", func(ctx context.Context) error {
			if err := at(ctx); err != nil {
				return err
			}
			if now.Writes == before.Writes || now.Writes < 100 {
				return fmt.Errorf("there are %d writes", now.Writes)
			}
			return nil
		})
		t.Logf("%s: %d writes through its API servers, lost: %d", hosted, now.Writes, now.Lost)
		if now.Lost > 0 {
			t.Errorf("%s: of %d writes %d are lost", hosted, now.Writes, now.Lost)
		}
	}
}

// templates has the contents with which the workloads of the hosted control planes were started, in order.
type templates struct {
	stop context.CancelFunc
	done chan struct{}
	seen map[string][]string
}

// followTemplates records the restarts that certrotation makes.
func (s *system) followTemplates(t *testing.T) *templates {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out := &templates{stop: stop, done: make(chan struct{}), seen: map[string][]string{}}
	go func() {
		defer close(out.done)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			out.look(ctx, s)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	return out
}

// look ignores failed requests, because the next look follows soon.
func (o *templates) look(ctx context.Context, s *system) {
	for _, namespace := range workernodes.HostedNamespaces {
		etcd, err := s.Client.AppsV1().StatefulSets(namespace).Get(ctx, "etcd", metav1.GetOptions{})
		if err != nil {
			return
		}
		server, err := s.Client.AppsV1().Deployments(namespace).Get(ctx, "kube-apiserver", metav1.GetOptions{})
		if err != nil {
			return
		}
		o.see("StatefulSet etcd of "+namespace, &etcd.Spec.Template)
		o.see("Deployment kube-apiserver of "+namespace, &server.Spec.Template)
	}
}

func (o *templates) see(workload string, template *corev1.PodTemplateSpec) {
	var content []string
	for _, key := range slices.Sorted(maps.Keys(template.Annotations)) {
		if strings.Contains(key, "content.certrotation.dev/") {
			content = append(content, template.Annotations[key])
		}
	}
	now := strings.Join(content, " ")
	if seen := o.seen[workload]; len(seen) == 0 || seen[len(seen)-1] != now {
		o.seen[workload] = append(seen, now)
	}
}

// end logs the restarts of each workload, and fails the test if a workload was not restarted.
func (o *templates) end(t *testing.T) {
	t.Helper()
	o.stop()
	<-o.done
	for _, workload := range slices.Sorted(maps.Keys(o.seen)) {
		restarts := len(o.seen[workload]) - 1
		t.Logf("%s: %d restarts made", workload, restarts)
		if restarts < 1 {
			t.Errorf("%s was not restarted, so it has not loaded the new CA", workload)
		}
	}
}
