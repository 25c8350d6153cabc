// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/quorum"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

const (
	home       = "demo"
	contentKey = "configmap.content.certrotation.dev/web-bundle"
	formerHash = "former"
	newestHash = "newest"
)

var web = trust.Workload{Kind: trust.Deployment, Name: "web"}

// world is an API server with workloads, and a rule that tells which restarts are due. The test acts as workload
// controllers and kubelets.
type world struct {
	t     *testing.T
	api   *apifake.Server
	clock *testclock.FakeClock
	// due are the workloads of one party that need the newest content, in turn. If it is empty, none does.
	due       []trust.Workload
	unmanaged bool
	events    []string
	// wrote are the writes of workloads and records. reads counts the reads of workloads.
	wrote []string
	reads int
	// fault may refuse the write of a workload.
	fault func() error
	// quorums are in the configuration, and answers is the result of the quorum check.
	quorums map[inventory.NamedWorkload]*configv1alpha1.Quorum
	answers func(pods []*corev1.Pod) (quorum.Observation, error)
}

var (
	_ Inventory            = (*world)(nil)
	_ Members              = (*world)(nil)
	_ events.EventRecorder = (*world)(nil)
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: testclock.NewFakeClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)), due: []trust.Workload{web}}
	w.api = apifake.New(t, w.clock)
	w.api.ReadFault = func(r *apifake.Request) apifake.Fault {
		if r.Verb == "get" && r.Resource.Group == "apps" {
			w.reads++
		}
		return apifake.NoFault
	}
	w.api.Admit = func(r *apifake.Request) error {
		w.wrote = append(w.wrote, r.String())
		if w.fault != nil && r.Resource.Group == "apps" {
			return w.fault()
		}
		return nil
	}
	w.put(&configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "mesh"}})
	return w
}

func (w *world) controller(edits ...func(*Config)) *Controller {
	w.t.Helper()
	cfg := Config{
		Client: w.api.Client, Own: w.api.Own.ConfigV1alpha1(), Inventory: w, Members: w, Recorder: w, Clock: w.clock, Enabled: true,
		Due: func(_ *trust.Domain, _ time.Time, known map[trust.Workload]trust.Progress) []trust.Restart {
			for _, next := range w.due {
				if !known[next].Complete {
					return []trust.Restart{{Party: "clients", Workload: next, Content: map[string]string{contentKey: newestHash}, Waits: []string{"web-0"}}}
				}
			}
			return nil
		},
	}
	for _, edit := range edits {
		edit(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.queue.ShutDown)
	return c
}

func (w *world) ctx() context.Context { return klog.NewContext(context.Background(), klog.Logger{}) }

func (w *world) put(o runtime.Object) {
	w.t.Helper()
	if err := w.api.Put(o); err != nil {
		w.t.Fatal(err)
	}
}

// look reconciles once and returns the requested delay.
func (w *world) look(c *Controller) time.Duration {
	w.t.Helper()
	again, err := c.reconcile(w.ctx(), home)
	if err != nil {
		w.t.Fatalf("look: %v", err)
	}
	return again
}

// deployed puts a Deployment at rest, with two pods that run a content.
func (w *world) deployed(name, hash string, edits ...func(*appsv1.Deployment)) {
	w.t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: home, Name: name, UID: "uid-web", Generation: 1, Annotations: map[string]string{trust.AnnotationConfiguration: "mesh"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{contentKey: hash, "other": "stays"}}},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2},
	}
	for _, edit := range edits {
		edit(d)
	}
	w.put(d)
	for i := range 2 {
		w.pod(name, i, hash)
	}
}

// pod puts a pod of a Deployment that runs a content.
func (w *world) pod(name string, ordinal int, hash string) {
	w.t.Helper()
	w.put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: home, Name: fmt.Sprintf("%s-%d", name, ordinal), Labels: map[string]string{"app": name}, Annotations: map[string]string{contentKey: hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: "uid-rs", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})
}

func (w *world) deployment(name string) *appsv1.Deployment {
	w.t.Helper()
	d, ok := apifake.Get(w.api, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}})
	if !ok {
		w.t.Fatalf("there is no Deployment %s", name)
	}
	return d
}

func (w *world) edit(name string, change func(*appsv1.Deployment)) {
	w.t.Helper()
	d := w.deployment(name)
	change(d)
	w.put(d)
}

// rolled acts as the Deployment controller and the kubelets: it replaces all pods with the content of the
// template.
func (w *world) rolled(name string) {
	w.t.Helper()
	w.edit(name, func(d *appsv1.Deployment) { d.Status.ObservedGeneration = d.Generation })
	for i := range 2 {
		w.pod(name, i, w.deployment(name).Spec.Template.Annotations[contentKey])
	}
}

// carries returns the content that the template of a Deployment names.
func (w *world) carries(name string) string {
	w.t.Helper()
	return w.deployment(name).Spec.Template.Annotations[contentKey]
}

func (w *world) restarts() []string {
	return slices.DeleteFunc(slices.Clone(w.wrote), func(text string) bool { return !strings.HasPrefix(text, "patch ") })
}

// held returns the recorded answers about workloads that are not restarted, by object.
func (w *world) held() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, r := range w.Sources(home).Records {
		if r.Said == nil || r.Said.Refusal == nil || r.Said.Refusal.Verb != trust.VerbRestart || r.Domain != "mesh" {
			w.t.Errorf("record %s: %+v", r.Name, r)
			continue
		}
		out[r.Said.Refusal.Object] = r.Said.Refusal.Answer
	}
	return out
}

func (w *world) said(text string) int {
	return len(slices.DeleteFunc(slices.Clone(w.events), func(e string) bool { return !strings.Contains(e, text) }))
}

// Managed implements Inventory.
func (w *world) Managed(namespace string) bool { return namespace == home && !w.unmanaged }

// Sources implements Inventory.
func (w *world) Sources(namespace string) *inventory.Sources {
	s := &inventory.Sources{Namespace: namespace}
	own := w.api.Own.ConfigV1alpha1()
	configurations, err := own.RotationConfigurations(namespace).List(w.ctx(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range configurations.Items {
		s = s.WithConfiguration(configurations.Items[i].Name, &configurations.Items[i])
	}
	records, err := own.RotationRecords(namespace).List(w.ctx(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range records.Items {
		s = s.WithRecord(records.Items[i].Name, &records.Items[i])
	}
	return s
}

// Namespace implements Inventory.
func (w *world) Namespace(namespace string) *inventory.Namespace {
	return &inventory.Namespace{Name: namespace, Quorums: w.quorums, Domains: []*trust.Domain{{Namespace: namespace, Name: "mesh", Configuration: "mesh"}}}
}

// CheckPods implements Members.
func (w *world) CheckPods(_ context.Context, _, configuration string, _ *configv1alpha1.Quorum, pods []*corev1.Pod) (quorum.Observation, error) {
	if configuration != "mesh" {
		w.t.Errorf("asked for the configuration %q", configuration)
	}
	return w.answers(pods)
}

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	ref := regarding.(*corev1.ObjectReference)
	w.events = append(w.events, fmt.Sprintf("%s %s %s/%s: %s", eventType, reason, ref.Kind, ref.Name, fmt.Sprintf(note, args...)))
}
