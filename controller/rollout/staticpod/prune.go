// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
)

// observePruner is library-go's PruneController.
func (l *look) observePruner(pod *corev1.Pod) {
	eligible, ok := nodepod.ParseNumber(pod.Labels[nodepod.LabelRevision])
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
	_, err := l.pods().Create(ctx, l.prunerPod(action))
	return err
}

// deleteRevision deletes the copies before the ConfigMap that owns them. So an interruption leaves nothing behind,
// with or without a garbage collector.
func (l *look) deleteRevision(ctx context.Context, number int) error {
	status := nodepod.StatusName(number)
	var errs []error
	for _, name := range l.configMapNames() {
		errs = append(errs, deleteCopy(ctx, l, l.configMaps(), nodepod.CopyName(name, number), status))
	}
	for _, name := range l.rollout.Config.SecretNames {
		errs = append(errs, deleteCopy(ctx, l, l.secrets(), nodepod.CopyName(name, number), status))
	}
	errs = append(errs, l.deleteNodeCopies(ctx, number))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := apply.Gone(l.configMaps().Delete(ctx, status, "", "")); err != nil {
		return fmt.Errorf("delete configmap %s: %w", status, err)
	}
	return nil
}

// deleteCopy deletes a copy of the revision whose ConfigMap is owner, and no other object of that name.
func deleteCopy[T apply.Object[T]](ctx context.Context, l *look, in apply.Writer[T], name, owner string) error {
	live, exists, err := in.Get(ctx, name)
	if err != nil || !exists || !l.isCopy(live, owner) {
		return err
	}
	return apply.Gone(in.Delete(ctx, name, live.GetUID(), ""))
}
