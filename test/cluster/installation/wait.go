// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
)

// Expected is the minimum number of certificates in each namespace.
type Expected map[string]int

// BothSamples returns the certificates of the system and of the samples mtls-service and openshift-etcd.
func BothSamples() Expected {
	return Expected{Namespace: 1, MTLSNamespace: 4, "openshift-etcd": 13}
}

// WaitReady waits until the expected certificates exist, and every certificate and bundle is Ready.
func (in *Installation) WaitReady(ctx context.Context, expected Expected) error {
	client, err := versioned.NewForConfig(in.Cluster.AdminConfig())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	var missing []string
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing, err = notReady(ctx, client, expected)
		return err == nil && len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("%w: not ready: %s", err, strings.Join(missing, "; "))
	}
	in.say("%-24s all are Ready", "certificates")
	return nil
}

func notReady(ctx context.Context, client versioned.Interface, expected Expected) ([]string, error) {
	var missing []string
	certificates, err := client.CertrotationV1alpha1().CertificateRotations("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}, err
	}
	counts := map[string]int{}
	for i := range certificates.Items {
		c := &certificates.Items[i]
		counts[c.Namespace]++
		missing = appendNotReady(missing, c.Namespace+"/"+c.Name, c.Status.Conditions)
	}
	bundles, err := client.CertrotationV1alpha1().BundleStatuses("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}, err
	}
	for i := range bundles.Items {
		b := &bundles.Items[i]
		missing = appendNotReady(missing, "bundle "+b.Namespace+"/"+b.Name, b.Status.Conditions)
	}
	for namespace, n := range expected {
		if counts[namespace] < n {
			missing = append(missing, fmt.Sprintf("%d of %d certificates of %s", counts[namespace], n, namespace))
		}
	}
	slices.Sort(missing)
	return missing, nil
}

func appendNotReady(missing []string, name string, conditions []metav1.Condition) []string {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return append(missing, name)
	}
	if ready.Status != metav1.ConditionTrue {
		return append(missing, fmt.Sprintf("%s (%s)", name, ready.Message))
	}
	return missing
}
