// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/restart"
	"certrotation.dev/registry/trust"
)

// look is one pass over one namespace.
type look struct {
	*Controller

	namespace string
	readings  map[trust.Workload]*reading
}

type reading struct {
	// workload is nil if it does not exist.
	workload *restart.Workload
	pods     []corev1.Pod
	err      error
	// forbidden means that err is a missing right to read workloads.
	forbidden bool
	// cluster is the answer of the etcd members in the pods, nil if they were not asked.
	cluster *restart.Cluster
}

// failed returns why the workload could not be read. A missing right is no failure: it has a verdict of its own.
func (r *reading) failed() error {
	if r.forbidden {
		return nil
	}
	return r.err
}

func (l *look) read(ctx context.Context, of trust.Workload) *reading {
	out := &reading{}
	out.workload, out.err = l.workload(ctx, of)
	if apierrors.IsForbidden(out.err) {
		out.forbidden = true
		return out
	}
	if out.err != nil || out.workload == nil {
		return out
	}
	pods, err := l.cfg.Client.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: out.workload.Selector.String()})
	if err != nil {
		out.err = fmt.Errorf("read the pods of %s/%s: %w", of.Kind, of.Name, err)
		return out
	}
	out.pods = pods.Items
	return out
}

func (l *look) ask(ctx context.Context, order *restart.Order, r *reading) *restart.Cluster {
	o, err := l.cfg.Members.CheckPods(ctx, l.namespace, r.workload.Configuration, order.Quorum, restart.Members(order, r.workload, r.pods))
	if err != nil {
		return &restart.Cluster{Failure: err.Error()}
	}
	return &restart.Cluster{Observation: o}
}

// workload reads a workload, nil if it does not exist.
func (l *look) workload(ctx context.Context, of trust.Workload) (*restart.Workload, error) {
	apps := l.cfg.Client.AppsV1()
	switch of.Kind {
	case trust.Deployment:
		return facts(ctx, of, apps.Deployments(l.namespace).Get, restart.OfDeployment)
	case trust.StatefulSet:
		return facts(ctx, of, apps.StatefulSets(l.namespace).Get, restart.OfStatefulSet)
	case trust.DaemonSet:
		return facts(ctx, of, apps.DaemonSets(l.namespace).Get, restart.OfDaemonSet)
	}
	return nil, fmt.Errorf("%s/%s is of no kind that is restarted", of.Kind, of.Name)
}

func facts[T any](
	ctx context.Context, of trust.Workload, get func(context.Context, string, metav1.GetOptions) (T, error), read func(T) (*restart.Workload, error),
) (*restart.Workload, error) {
	live, err := get(ctx, of.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", of.Kind, of.Name, err)
	}
	return read(live)
}
