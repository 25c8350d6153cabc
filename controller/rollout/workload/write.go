// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/restart"
	"certrotation.dev/registry/trust"
)

// writeTimeout bounds the reads and the write of one workload.
const writeTimeout = 20 * time.Second

// verbPatch is the verb of a template write in metrics.
const verbPatch = "patch"

// resources are the resource names of the kinds in metrics.
var resources = map[trust.WorkloadKind]string{
	trust.Deployment: "deployments", trust.StatefulSet: "statefulsets", trust.DaemonSet: "daemonsets",
}

// write patches the template, if the workload is unchanged since it was assessed and its configuration still asks for
// the restart.
func (l *look) write(ctx context.Context, t *task) error {
	// A shutdown must not interrupt a write: its result would be unknown.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := l.confirm(ctx, t.reading.workload.Configuration); err != nil {
		return err
	}
	patch, err := restart.Patch(t.reading.workload, t.order.Content)
	if err != nil {
		return err
	}
	workload := t.order.Workload
	err = l.by.Wrote(verbPatch, resources[workload.Kind], apply.Stale(l.patch(ctx, workload, patch)))
	if err != nil {
		return err
	}
	l.metrics.restarted(l.namespace, workload.Kind)
	l.emit(t, corev1.EventTypeNormal, EventRestarted, "its pods have to start with what is published now, for "+t.order.Why())
	klog.FromContext(ctx).Info("Restarted", "kind", workload.Kind, "workload", klog.KRef(l.namespace, workload.Name), "for", t.order.Why())
	return nil
}

func (l *look) patch(ctx context.Context, of trust.Workload, patch []byte) error {
	apps, opts := l.cfg.Client.AppsV1(), metav1.PatchOptions{FieldManager: FieldManager}
	var err error
	switch of.Kind {
	case trust.Deployment:
		_, err = apps.Deployments(l.namespace).Patch(ctx, of.Name, types.MergePatchType, patch, opts)
	case trust.StatefulSet:
		_, err = apps.StatefulSets(l.namespace).Patch(ctx, of.Name, types.MergePatchType, patch, opts)
	case trust.DaemonSet:
		_, err = apps.DaemonSets(l.namespace).Patch(ctx, of.Name, types.MergePatchType, patch, opts)
	}
	return err
}

// replace deletes pods in which nothing runs, if they are unchanged since they were read.
func (l *look) replace(ctx context.Context, t *task) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := l.confirm(ctx, t.reading.workload.Configuration); err != nil {
		return err
	}
	for _, pod := range t.verdict.Pods {
		only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}}
		err := l.by.Wrote(apply.VerbDelete, "pods", apply.Gone(l.cfg.Client.CoreV1().Pods(l.namespace).Delete(ctx, pod.Name, only)))
		if err != nil {
			return err
		}
		l.emit(t, corev1.EventTypeNormal, EventPodReplaced, "pod "+pod.Name+" has not started, and names a content that was replaced; it was deleted to be made anew")
		klog.FromContext(ctx).Info("Deleted a pod that could not start", "pod", klog.KObj(pod))
	}
	return nil
}

// evict evicts the pod of an etcd member, if it is unchanged since it was read. A PodDisruptionBudget counts an
// eviction like the drain of a node.
func (l *look) evict(ctx context.Context, t *task) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := l.confirm(ctx, t.reading.workload.Configuration); err != nil {
		return err
	}
	pod := t.verdict.Pods[0]
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}},
	}
	err := apply.Stale(l.cfg.Client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, eviction))
	err = l.by.Wrote(apply.VerbCreate, "evictions", err)
	if apierrors.IsTooManyRequests(err) {
		t.verdict = restart.Undisruptable(pod, err)
		return nil
	}
	if err != nil {
		return err
	}
	l.emit(t, corev1.EventTypeNormal, EventPodReplaced, "pod "+pod.Name+" was evicted to start with what is published now: "+t.verdict.Message)
	klog.FromContext(ctx).Info("Evicted a member of etcd", "pod", klog.KObj(pod), "safe", t.verdict.Message)
	return nil
}

// confirm checks live that the configuration is the one of the decision.
func (l *look) confirm(ctx context.Context, name string) error {
	live, err := l.cfg.Own.RotationConfigurations(l.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read its configuration: %w", apply.Stale(err))
	}
	sources := l.cfg.Inventory.Sources(l.namespace)
	if sources == nil || sources.Configurations[name] == nil {
		return apply.ErrStale
	}
	if known := sources.Configurations[name]; live.UID != known.UID || live.Generation != known.Generation {
		return apply.ErrStale
	}
	return nil
}

func (l *look) emit(t *task, kind, reason, note string) {
	ref := &corev1.ObjectReference{
		APIVersion: "apps/v1", Kind: string(t.order.Workload.Kind), Namespace: l.namespace, Name: t.order.Workload.Name,
	}
	if t.reading.workload != nil {
		ref.UID, ref.ResourceVersion = t.reading.workload.UID, t.reading.workload.ResourceVersion
	}
	l.cfg.Recorder.Eventf(ref, nil, kind, reason, "RestartWorkload", "%s", display.Note(note))
}
