// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// waitForGuard waits until the webhook refuses a broken configuration in a dry run.
func (in *Installation) waitForGuard(ctx context.Context, client kubernetes.Interface) error {
	broken := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "guard-check", Namespace: Namespace, Labels: map[string]string{"certrotation.dev/config": "true"}},
		Data:       map[string]string{"config.yaml": "this is no configuration"},
	}
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.CoreV1().ConfigMaps(Namespace).Create(ctx, broken, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(last) || apierrors.IsInvalid(last) || apierrors.IsBadRequest(last), nil
	})
	if err != nil {
		return fmt.Errorf("wait for the guard to refuse a broken configuration (see %s; the last answer was %w): %w", in.Serve.LogFile(), last, err)
	}
	in.say("%-24s refuses a broken configuration", "guard")
	return nil
}
