// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
)

// broken returns a configuration that the schema accepts and the webhook refuses: the schema does not check
// addresses.
func broken() *configv1alpha1.RotationConfiguration {
	return &configv1alpha1.RotationConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "guard-check", Namespace: Namespace},
		Spec: configv1alpha1.RotationConfigurationSpec{Preset: &configv1alpha1.Preset{
			Name: configv1alpha1.PresetMTLSService,
			MTLSService: &configv1alpha1.MTLSServicePreset{
				Name: "guard-check", Clients: []string{"a"}, ServerAddresses: []string{"127.0.0.1:1"}, IPAddresses: []string{"no address"},
			},
		}},
	}
}

// waitForGuard waits until the webhook refuses a broken configuration in a dry run.
func (in *Installation) waitForGuard(ctx context.Context, client versioned.Interface) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.ConfigV1alpha1().RotationConfigurations(Namespace).Create(ctx, broken(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return refusedByWebhook(last), nil
	})
	if err != nil {
		return fmt.Errorf("wait for the guard to refuse a broken configuration (see %s; the last answer was %w): %w", in.Serve.LogFile(), last, err)
	}
	in.say("%-24s refuses a broken configuration", "guard")
	return nil
}

// refusedByWebhook distinguishes an answer of the webhook from one of the schema or of RBAC.
func refusedByWebhook(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && strings.Contains(err.Error(), "admission webhook")
}
