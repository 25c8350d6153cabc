// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

const (
	contentKey = "configmap.content.certrotation.dev/web-bundle"
	formerHash = "former"
	newestHash = "newest"
	// supersededHash is the hash of a content that the newest content supersedes.
	supersededHash = "superseded"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// due returns an order that two clients of a party wait for.
func due(kind trust.WorkloadKind) *Order {
	return &Order{
		Namespace: "demo", Workload: trust.Workload{Kind: kind, Name: "web"}, Content: map[string]string{contentKey: newestHash},
		Superseded: map[string][]string{contentKey: {supersededHash}},
		For:        []Need{{Domain: "mesh", Configuration: "mesh", Party: "clients", Selector: "app=web", Waits: []string{"web-0", "web-1"}}},
	}
}

func meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "web", UID: "uid-web", ResourceVersion: "7", Generation: 3, Annotations: map[string]string{trust.AnnotationConfiguration: "mesh"},
	}
}

func template(hash string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{contentKey: hash, "other": "stays"},
	}}
}

var selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

// deployment returns one with three pods, which has finished rolling out a content.
func deployment(hash string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: meta(), Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: selector, Template: template(hash)},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3, Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", LastUpdateTime: metav1.NewTime(noon),
		}}},
	}
}

// exceeded gives a Deployment the condition ProgressDeadlineExceeded, since noon.
func exceeded(d *appsv1.Deployment) {
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
		Message: `ReplicaSet "web-1" has timed out progressing.`, LastTransitionTime: metav1.NewTime(noon),
	}}
}

// statefulSet returns one with three pods, which has finished rolling out a content.
func statefulSet(hash string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: meta(), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Selector: selector, Template: template(hash)},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: 3, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3, CurrentRevision: "web-a", UpdateRevision: "web-a",
		},
	}
}

func partitioned(s *appsv1.StatefulSet, partition int32) {
	s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
	}
}

// daemonSet returns one on three nodes, which has finished rolling out a content.
func daemonSet(hash string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: meta(), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template(hash)},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 3, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3,
		},
	}
}

// pod returns a pod of the workload, Ready unless an edit says otherwise.
func pod(kind trust.WorkloadKind, ordinal int, hash string, edits ...func(*corev1.Pod)) corev1.Pod {
	owner := metav1.OwnerReference{Kind: string(kind), Name: "web", UID: "uid-web", Controller: new(true)}
	if kind == trust.Deployment {
		owner = metav1.OwnerReference{Kind: "ReplicaSet", Name: "web-1", UID: "uid-web-1", Controller: new(true)}
	}
	out := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("web-%d", ordinal), Labels: map[string]string{"app": "web"}, Annotations: map[string]string{contentKey: hash},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, edit := range edits {
		edit(&out)
	}
	return out
}

func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(noon)) }

func evicted(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"} }

func crashing(p *corev1.Pod) {
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "program", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}}
}

func unscheduled(p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}}
}

// gated makes a pod wait in an init container.
func gated(p *corev1.Pod) {
	p.Spec.NodeName = "node-1"
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}}
}

func three(kind trust.WorkloadKind, hash string) []corev1.Pod {
	return []corev1.Pod{pod(kind, 0, hash), pod(kind, 1, hash), pod(kind, 2, hash)}
}

func read(t *testing.T, o any) *Workload {
	t.Helper()
	var w *Workload
	var err error
	switch o := o.(type) {
	case nil:
	case *appsv1.Deployment:
		w, err = OfDeployment(o)
	case *appsv1.StatefulSet:
		w, err = OfStatefulSet(o)
	case *appsv1.DaemonSet:
		w, err = OfDaemonSet(o)
	default:
		t.Fatalf("%T is no workload", o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func with[T any](o T, edits ...func(T)) T {
	for _, edit := range edits {
		edit(o)
	}
	return o
}
