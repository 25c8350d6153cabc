// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/rollout"
)

// The PruneController of library-go.
func (l *look) observePruner(pod *corev1.Pod) {
	eligible, ok := revision.ParseNumber(pod.Labels[revision.LabelRevision])
	if !ok {
		return
	}
	out := rollout.Pruner{
		Name: pod.Name, Node: pod.Spec.NodeName, Eligible: eligible, Finished: finished(pod),
		Succeeded: pod.Status.Phase == corev1.PodSucceeded, Deleting: pod.DeletionTimestamp != nil, FinishedAt: l.notLater(endedAt(pod)),
	}
	_, out.Message = progress(pod)
	l.state.Pruners = append(l.state.Pruners, out)
}

func (l *look) runPruner(ctx context.Context, action *rollout.Action) error {
	if err := l.ensureServiceAccount(ctx); err != nil {
		return err
	}
	_, err := l.client.CoreV1().Pods(l.namespace).Create(ctx, l.prunerPod(action), metav1.CreateOptions{FieldManager: FieldManager})
	l.metrics.wrote("create", "pods", err)
	return err
}

// deleteRevision deletes the copies and then what they belong to, so that nothing is left if it is cut off, whether there
// is a garbage collector or not.
func (l *look) deleteRevision(ctx context.Context, number int) error {
	status := revision.StatusName(number)
	var errs []error
	for _, name := range l.configMapNames() {
		errs = append(errs, l.deleteConfigMapCopy(ctx, revision.CopyName(name, number), status))
	}
	for _, name := range l.rollout.Config.SecretNames {
		errs = append(errs, l.deleteSecretCopy(ctx, revision.CopyName(name, number), status))
	}
	errs = append(errs, l.deleteNodeCopies(ctx, number))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	err := l.client.CoreV1().ConfigMaps(l.namespace).Delete(ctx, status, metav1.DeleteOptions{})
	l.metrics.wrote("delete", "configmaps", err)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete configmap %s: %w", status, err)
	}
	return nil
}

func (l *look) deleteConfigMapCopy(ctx context.Context, name, owner string) error {
	configMaps := l.client.CoreV1().ConfigMaps(l.namespace)
	live, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if err != nil || !l.isCopy(&live.ObjectMeta, owner) {
		return ignoreNotFound(err)
	}
	err = configMaps.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &live.UID}})
	l.metrics.wrote("delete", "configmaps", err)
	return ignoreNotFound(err)
}

func (l *look) deleteSecretCopy(ctx context.Context, name, owner string) error {
	secrets := l.client.CoreV1().Secrets(l.namespace)
	live, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil || !l.isCopy(&live.ObjectMeta, owner) {
		return ignoreNotFound(err)
	}
	err = secrets.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &live.UID}})
	l.metrics.wrote("delete", "secrets", err)
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
