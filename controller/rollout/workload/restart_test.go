// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// TestRestartedOnce: the template is written once, nothing else in it changes, and an event tells of the restart.
func TestRestartedOnce(t *testing.T) {
	w := newWorld(t)
	w.deployed("web", formerHash)
	c := w.controller()
	if again := w.look(c); again != nextLook {
		t.Errorf("looks again after %s", again)
	}
	for range 3 {
		w.look(c)
	}
	if diff := cmp.Diff([]string{"patch deployments web"}, w.wrote); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{contentKey: newestHash, "other": "stays"}, w.deployment("web").Spec.Template.Annotations); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if n := w.said("Normal WorkloadRestarted Deployment/web: its pods have to start with what is published now, for relying party clients of trust domain mesh (evidence of web-0)"); n != 1 {
		t.Errorf("events %q", w.events)
	}
	w.rolled("web")
	if again := w.look(c); again != 0 || len(w.restarts()) != 1 || len(w.held()) != 0 {
		t.Errorf("done: again %s, writes %q, held %v", again, w.wrote, w.held())
	}
	w.due, w.reads = nil, 0
	if again := w.look(c); again != 0 || w.reads != 0 {
		t.Errorf("at rest: again %s, %d reads", again, w.reads)
	}
}

// TestOneOfAPartyAtATime: the next workload is written only after the previous one is done.
func TestOneOfAPartyAtATime(t *testing.T) {
	w := newWorld(t)
	w.due = append(w.due, trust.Workload{Kind: trust.Deployment, Name: "batch"})
	w.deployed("web", formerHash)
	w.deployed("batch", formerHash)
	c := w.controller()
	w.look(c)
	w.look(c)
	if w.carries("batch") != formerHash {
		t.Fatal("both were written")
	}
	w.rolled("web")
	w.look(c)
	if diff := cmp.Diff([]string{"patch deployments web", "patch deployments batch"}, w.restarts()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestEveryKind reads and writes each kind by its own client.
func TestEveryKind(t *testing.T) {
	w := newWorld(t)
	labels := map[string]string{"app": "db"}
	meta := metav1.ObjectMeta{Namespace: home, Name: "db", UID: "uid-db", Annotations: map[string]string{trust.AnnotationConfiguration: "mesh"}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	w.put(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0)), Selector: selector, Template: template}})
	w.put(&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}})
	c := w.controller()
	for _, kind := range []trust.WorkloadKind{trust.StatefulSet, trust.DaemonSet} {
		w.due = []trust.Workload{{Kind: kind, Name: "db"}}
		w.look(c)
	}
	if diff := cmp.Diff([]string{"patch statefulsets db", "patch daemonsets db"}, w.restarts()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestPodAtItsGate: a pod of a StatefulSet waits for content that was replaced. The template is written, and only
// this pod is deleted.
func TestPodAtItsGate(t *testing.T) {
	w := newWorld(t)
	labels := map[string]string{"app": "db"}
	w.due = []trust.Workload{{Kind: trust.StatefulSet, Name: "db"}}
	w.put(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "db", UID: "uid-db", Annotations: map[string]string{trust.AnnotationConfiguration: "mesh"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{contentKey: formerHash}}},
		},
		Status: appsv1.StatefulSetStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 1},
	})
	for i, status := range []corev1.PodStatus{
		{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}, {Phase: corev1.PodPending},
	} {
		w.put(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: home, Name: fmt.Sprintf("db-%d", i), Labels: labels, Annotations: map[string]string{contentKey: formerHash},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "uid-db", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: "node-1"}, Status: status,
		})
	}
	c := w.controller()
	w.look(c)
	s, _ := apifake.Get(w.api, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "db"}})
	s.Status.ObservedGeneration = s.Generation
	w.put(s)
	w.look(c)
	if diff := cmp.Diff([]string{"patch statefulsets db", "delete pods db-1"}, w.wrote); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if w.said("Normal WorkloadPodReplaced StatefulSet/db: pod db-1 has not started") != 1 {
		t.Errorf("events %q", w.events)
	}
}

// TestHolds: what a person must do is recorded after a while, told once, and withdrawn once done.
func TestHolds(t *testing.T) {
	for name, tt := range map[string]struct {
		edit, mend func(*appsv1.Deployment)
		says       string
	}{
		"no consent": {
			func(d *appsv1.Deployment) { d.Annotations = nil },
			func(d *appsv1.Deployment) { d.Annotations = map[string]string{trust.AnnotationConfiguration: "mesh"} },
			"kubectl annotate -n demo Deployment web certrotation.dev/configuration=mesh (NotAdopted)",
		},
		"paused": {
			func(d *appsv1.Deployment) { d.Spec.Paused = true },
			func(d *appsv1.Deployment) { d.Spec.Paused = false },
			"kubectl rollout resume Deployment/web (RolloutPaused)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deployed("web", formerHash, tt.edit)
			c := w.controller()
			if again := w.look(c); again != nextAppeal || len(w.wrote) != 0 {
				t.Errorf("at first: again %s, writes %q", again, w.wrote)
			}
			w.clock.Step(patience)
			for range 3 {
				w.look(c)
			}
			if got := w.held(); len(got) != 1 || !strings.HasSuffix(got["Deployment/web"], tt.says) {
				t.Errorf("held %q", got)
			}
			if w.said("Warning WorkloadRestartHeld Deployment/web: ") != 1 || len(w.wrote) != 1 || c.memory.held()[home] != 1 {
				t.Errorf("events %q, writes %q", w.events, w.wrote)
			}
			// Another process finds the record.
			w.look(w.controller())
			if w.said("WorkloadRestartHeld") != 1 || len(w.wrote) != 1 {
				t.Errorf("events %q, writes %q", w.events, w.wrote)
			}
			w.edit("web", tt.mend)
			w.look(c)
			if len(w.restarts()) != 1 || len(w.held()) != 0 || c.memory.held()[home] != 0 {
				t.Errorf("writes %q, held %v", w.wrote, w.held())
			}
		})
	}
}

// TestSlowRolloutIsTold: a slow rollout is recorded without an event.
func TestSlowRolloutIsTold(t *testing.T) {
	w := newWorld(t)
	w.deployed("web", formerHash)
	c := w.controller()
	w.look(c)
	w.look(c)
	w.clock.Step(time.Minute)
	w.look(c)
	if len(w.held()) != 0 {
		t.Errorf("told at once: %v", w.held())
	}
	w.clock.Step(time.Minute)
	w.look(c)
	if got := w.held()["Deployment/web"]; !strings.Contains(got, "(TemplateNotSeen)") || w.said("Warning") != 0 {
		t.Errorf("held %q, events %q", got, w.events)
	}
	w.rolled("web")
	w.look(c)
	if len(w.held()) != 0 {
		t.Errorf("held %v", w.held())
	}
}

// TestNotDueAnyMore: when the restart is no longer due, the record is withdrawn.
func TestNotDueAnyMore(t *testing.T) {
	w := newWorld(t)
	c := w.controller()
	w.look(c)
	w.clock.Step(patience)
	w.look(c)
	if got := w.held()["Deployment/web"]; !strings.Contains(got, "does not exist") {
		t.Fatalf("held %q", got)
	}
	w.due = nil
	w.look(c)
	if len(w.held()) != 0 {
		t.Errorf("held %v", w.held())
	}
}

// TestStaleDecisions: an object that changed since the decision is not overwritten.
func TestStaleDecisions(t *testing.T) {
	for name, between := range map[string]func(*world){
		"the workload": func(w *world) { w.edit("web", func(d *appsv1.Deployment) { d.Spec.Paused = true }) },
		"the configuration": func(w *world) {
			w.put(&configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "mesh", UID: "another"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deployed("web", formerHash)
			known := w.Sources(home)
			c := w.controller(func(cfg *Config) { cfg.Inventory = former{w, known} })
			w.api.ReadFault = func(r *apifake.Request) apifake.Fault {
				if r.Resource.Resource == "pods" {
					between(w)
				}
				return apifake.NoFault
			}
			if _, err := c.reconcile(w.ctx(), home); err == nil {
				t.Error("nothing has failed")
			}
			if w.carries("web") != formerHash {
				t.Error("the template was written")
			}
		})
	}
}

// former is an inventory with outdated sources.
type former struct {
	*world

	known *inventory.Sources
}

func (f former) Sources(string) *inventory.Sources { return f.known }

// TestRefusedWrites: the answer of the API server is recorded and told, and the write is retried.
func TestRefusedWrites(t *testing.T) {
	w := newWorld(t)
	w.deployed("web", formerHash)
	c := w.controller()
	w.fault = func() error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("denied by policy"))
	}
	for range 2 {
		if _, err := c.reconcile(w.ctx(), home); !apierrors.IsForbidden(err) {
			t.Fatalf("err = %v", err)
		}
		w.clock.Step(patience)
	}
	if got := w.held()["Deployment/web"]; !strings.Contains(got, "denied by policy") || w.said("denied by policy") != 1 {
		t.Errorf("held %q, events %q", got, w.events)
	}
	w.fault = nil
	w.look(c)
	if w.carries("web") != newestHash || len(w.held()) != 0 {
		t.Errorf("carries %s, held %v", w.carries("web"), w.held())
	}
}

// TestWithoutRights: the record tells which flag or binding is missing.
func TestWithoutRights(t *testing.T) {
	for name, tt := range map[string]struct {
		enabled bool
		says    string
	}{
		"not asked for": {false, "without --restart-workloads"},
		"not bound":     {true, "kubectl create rolebinding certrotation-rollout-workloads -n demo"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deployed("web", formerHash)
			w.api.ReadFault = func(r *apifake.Request) apifake.Fault {
				if r.Resource.Group == "apps" {
					return apifake.Forbidden
				}
				return apifake.NoFault
			}
			c := w.controller(func(cfg *Config) { cfg.Enabled = tt.enabled })
			w.look(c)
			w.clock.Step(patience)
			w.look(c)
			if got := w.held()["Deployment/web"]; !strings.Contains(got, tt.says) || len(w.restarts()) != 0 {
				t.Errorf("held %q, writes %q", got, w.wrote)
			}
		})
	}
}

// TestUnmanaged: in a namespace that has not opted in, nothing is read.
func TestUnmanaged(t *testing.T) {
	w := newWorld(t)
	w.unmanaged = true
	w.deployed("web", formerHash)
	if again := w.look(w.controller()); again != 0 || w.reads != 0 || len(w.wrote) != 0 {
		t.Errorf("again %s, %d reads, writes %q", again, w.reads, w.wrote)
	}
}
