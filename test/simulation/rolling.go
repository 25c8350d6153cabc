// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/restart"
	"certrotation.dev/registry/trust"
)

// workloadLabel tells apart the pods of the workloads of a party.
const workloadLabel = "workload"

// startsOnly reports whether the program of a workload reads its files only at start.
func (l *workload) startsOnly() bool { return l.template != nil }

// deployStarted gives a template to the workloads whose programs read their files only at start, and their parties
// a second workload if they have two.
func (w *world) deployStarted() {
	for _, l := range slices.Clone(w.workloads) {
		if l.files = readAtStart(w.domains(), l.party); l.files == nil {
			continue
		}
		l.template, l.generation = &template{content: map[string]string{}, gated: !w.topology.assumed}, 1
		if w.topology.twoWorkloads {
			second := *l
			second.name = secondWorkload(l.party)
			w.workloads = append(w.workloads, &second)
		}
	}
}

func secondWorkload(party string) string { return party + "-second" }

func (t topology) workloadsOf(party string) []configv1alpha1.RestartedWorkload {
	kind := configv1alpha1.Deployment
	if t.stateful {
		kind = configv1alpha1.StatefulSet
	}
	out := []configv1alpha1.RestartedWorkload{{Workload: configv1alpha1.Workload{Kind: kind, Name: party}}}
	if t.twoWorkloads {
		out = append(out, configv1alpha1.RestartedWorkload{Workload: configv1alpha1.Workload{Kind: kind, Name: secondWorkload(party)}})
	}
	return out
}

func (w *world) kindOfWorkloads() trust.WorkloadKind {
	if w.topology.stateful {
		return trust.StatefulSet
	}
	return trust.Deployment
}

func (l *workload) named(kind trust.WorkloadKind) trust.Workload {
	return trust.Workload{Kind: kind, Name: l.name}
}

func (l *workload) labels() map[string]string {
	return map[string]string{podLabel: l.party, workloadLabel: l.name}
}

// owner is the owner reference of the pods of a workload.
func (l *workload) owner(kind trust.WorkloadKind) []metav1.OwnerReference {
	out := metav1.OwnerReference{APIVersion: "apps/v1", Kind: string(kind), Name: l.name, UID: types.UID(l.name), Controller: new(true)}
	if kind == trust.Deployment {
		out.Kind = "ReplicaSet"
	}
	return []metav1.OwnerReference{out}
}

// living returns the pods of a workload that its controller counts.
func (w *world) living(l *workload) []*process {
	return slices.DeleteFunc(w.podsOf(l), func(p *process) bool { return p.pod.terminating || p.pod.ended || p.pod.lost })
}

// facts returns a workload and its pods as the API server has them.
func (w *world) facts(l *workload) (*restart.Workload, []corev1.Pod, error) {
	var pods []corev1.Pod
	for _, p := range w.podsOf(l) {
		if !p.pod.unlabelled {
			pods = append(pods, *p.object(w.kindOfWorkloads()))
		}
	}
	var all, updated, available int32
	for _, p := range w.living(l) {
		all++
		if p.pod.template == l.template {
			updated++
		}
		if p.up {
			available++
		}
	}
	meta := metav1.ObjectMeta{Name: l.name, Namespace: namespace, UID: types.UID(l.name), Generation: l.generation, Annotations: consenting().Annotations}
	selector := &metav1.LabelSelector{MatchLabels: l.labels()}
	made := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l.labels(), Annotations: l.template.content}}
	var out *restart.Workload
	var err error
	if w.topology.stateful {
		status := appsv1.StatefulSetStatus{ObservedGeneration: l.observed, Replicas: all, UpdatedReplicas: updated, AvailableReplicas: available, CurrentRevision: "former"}
		out, err = restart.OfStatefulSet(&appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(l.replicas)), Selector: selector, Template: made}, Status: status,
		})
	} else {
		status := appsv1.DeploymentStatus{ObservedGeneration: l.observed, Replicas: all, UpdatedReplicas: updated, AvailableReplicas: available}
		out, err = restart.OfDeployment(&appsv1.Deployment{
			ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(l.replicas)), Paused: l.paused, Selector: selector, Template: made}, Status: status,
		})
	}
	return out, pods, err
}

func (l *workload) rewrites(t *template) {
	l.template = t
	l.generation++
}

// rolls lets the controller of a workload do its next step: observe a change, make a missing pod, or replace a pod
// of a former template. It reports whether there was one.
func (w *world) rolls(l *workload) bool {
	if !l.startsOnly() || w.wrong && !w.mistaken {
		return false
	}
	living := w.living(l)
	former := func(p *process) bool { return p.pod.template != l.template }
	at, surplus := slices.IndexFunc(living, former), len(living) > l.replicas
	formerDown := slices.IndexFunc(living, func(p *process) bool { return former(p) && !p.up })
	down := slices.ContainsFunc(living, func(p *process) bool { return !p.up })
	switch {
	case l.observed < l.generation:
		l.observed = l.generation
		w.say("the controller of %s sees its template", l.name)
	case len(living) < l.replicas:
		w.say("%s has the pod %s made", l.name, w.createPod(l).name)
	case surplus && formerDown >= 0:
		w.rollsAway(living[formerDown])
	case surplus && at < 0:
		w.rollsAway(living[len(living)-1])
	case at < 0, l.paused, w.topology.stateful && down:
		return false
	case formerDown >= 0:
		// Pods that never became available go first.
		w.rollsAway(living[formerDown])
	case surplus && down:
		return false
	case surplus, w.topology.stateful:
		w.counts.event(podReplaced)
		w.rollsAway(living[at])
	default:
		w.say("%s has the pod %s made of its newest template", l.name, w.createPod(l).name)
	}
	return true
}

// rollsAway deletes a pod. In a stateful world another pod of its name follows.
func (w *world) rollsAway(p *process) {
	w.say("the controller of %s deletes the pod %s", p.pod.workload.name, p.name)
	p.pod.succeeded = w.topology.stateful && len(w.living(p.pod.workload)) <= p.pod.workload.replicas
	w.terminates(p)
}
