// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/rollout"
)

// serviceAccount is what installers and pruners run as. It has no rights, because they ask the API for nothing.
const serviceAccount = "installer-sa"

// The BackingResourceController of library-go: it sees to the ServiceAccount whenever a pod is about to need it.
func (l *look) ensureServiceAccount(ctx context.Context) error {
	err := l.writeServiceAccount(ctx)
	l.memory.failed(l.id(), rollout.BackingResourceController, err)
	return err
}

func (l *look) writeServiceAccount(ctx context.Context) error {
	accounts := l.client.CoreV1().ServiceAccounts(l.namespace)
	live, err := accounts.Get(ctx, serviceAccount, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = accounts.Create(ctx, &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: l.namespace, Name: serviceAccount, Labels: map[string]string{revision.LabelRollout: l.name},
			},
			AutomountServiceAccountToken: new(false),
		}, metav1.CreateOptions{FieldManager: FieldManager})
		l.metrics.wrote("create", "serviceaccounts", err)
	}
	if err != nil {
		return fmt.Errorf("service account %s/%s: %w", l.namespace, serviceAccount, err)
	}
	// One that somebody else has made stays as it is: the pods mount no token in any case.
	if live == nil || live.Labels[revision.LabelRollout] != l.name || !ptr.Deref(live.AutomountServiceAccountToken, true) {
		return nil
	}
	live.AutomountServiceAccountToken = new(false)
	_, err = accounts.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	l.metrics.wrote("update", "serviceaccounts", err)
	if err != nil {
		return fmt.Errorf("service account %s/%s: %w", l.namespace, serviceAccount, err)
	}
	return nil
}
