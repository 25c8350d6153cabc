// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// Reissue requests a new certificate by the condition Issuing, as `cmctl renew` does. cert-manager removes the condition after it has
// written the Secret. The request overrides a backoff after failures.
func Reissue(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	certificates := client.Resource(Certificates).Namespace(namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		certificate, err := certificates.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		set, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
		if err != nil {
			return err
		}
		set = append(slices.DeleteFunc(set, isOf("Issuing")), map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "a test requests a new certificate",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": certificate.GetGeneration(),
		})
		if err := unstructured.SetNestedSlice(certificate.Object, set, "status", "conditions"); err != nil {
			return err
		}
		_, err = certificates.UpdateStatus(ctx, certificate, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("set the condition Issuing of the Certificate %s/%s: %w", namespace, name, err)
	}
	return nil
}

func isOf(kind string) func(any) bool {
	return func(condition any) bool {
		fields, ok := condition.(map[string]any)
		return ok && fields["type"] == kind
	}
}
