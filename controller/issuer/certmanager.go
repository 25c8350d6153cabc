// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package issuer

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/display"
)

// What cert-manager calls its objects.
const (
	// annotationCertificate on a Secret names the Certificate that delivers into it.
	annotationCertificate = "cert-manager.io/certificate-name"
	conditionIssuing      = "Issuing"
	reasonRequested       = "RotationRequested"
)

// Certificates are the Certificates of cert-manager.
var Certificates = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}

// ErrPending means that the certificate is being issued.
var ErrPending = errors.New("the certificate is being issued")

// FailedError means that no certificate was issued. It was asked for again where that is possible.
type FailedError struct{ Why string }

// Error implements error.
func (e *FailedError) Error() string { return e.Why }

// CertManager asks cert-manager.
type CertManager struct {
	Core    kubernetes.Interface
	Dynamic dynamic.Interface
	Clock   clock.PassiveClock
}

// Request asks for a new certificate in a Secret; why is for people. It returns ErrPending if one is being issued, a
// *FailedError if the last attempt has failed or nothing can be asked, and errors of the API server as *apply.WriteError.
func (c *CertManager) Request(ctx context.Context, namespace, secretName, why string) error {
	secret, err := c.Core.CoreV1().Secrets(namespace).Get(ctx, secretName, metav1.GetOptions{})
	if err != nil {
		return apply.Stale(err)
	}
	name := secret.Annotations[annotationCertificate]
	if name == "" {
		return &FailedError{fmt.Sprintf("no annotation %s names its Certificate, so cert-manager does not issue it", annotationCertificate)}
	}
	client := c.Dynamic.Resource(Certificates).Namespace(namespace)
	certificate, err := client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &FailedError{fmt.Sprintf("there is no Certificate/%s, which its annotation %s names", name, annotationCertificate)}
	case err != nil:
		return &apply.WriteError{Verb: "get the Certificate of", Err: err}
	}
	if delivers, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName"); delivers != secretName {
		return &FailedError{fmt.Sprintf("Certificate/%s, which its annotation %s names, delivers into another Secret", name, annotationCertificate)}
	}
	failed, err := request(certificate, why, c.Clock.Now())
	if err != nil {
		return err
	}
	if _, err := client.UpdateStatus(ctx, certificate, metav1.UpdateOptions{}); err != nil {
		return &apply.WriteError{Verb: "update the status of the Certificate of", Err: err}
	}
	if failed != "" {
		return &FailedError{fmt.Sprintf("Certificate/%s: %s", name, failed)}
	}
	return nil
}

// request sets the condition Issuing of a Certificate. It returns why the last attempt has failed, "" if it has not.
func request(certificate *unstructured.Unstructured, why string, now time.Time) (failed string, err error) {
	conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	if err != nil {
		return "", fmt.Errorf("conditions of Certificate %s: %w", certificate.GetName(), err)
	}
	kept := make([]any, 0, len(conditions)+1)
	said := ""
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != conditionIssuing {
			kept = append(kept, c)
			continue
		}
		if condition["status"] == string(metav1.ConditionTrue) {
			return "", ErrPending
		}
		said, _ = condition["message"].(string)
	}
	// cert-manager removes the time of the last failure when it succeeds.
	if at, found, _ := unstructured.NestedString(certificate.Object, "status", "lastFailureTime"); found && at != "" {
		failed = fmt.Sprintf("failed at %s: %s", at, said)
	}
	kept = append(kept, map[string]any{
		"type": conditionIssuing, "status": string(metav1.ConditionTrue), "reason": reasonRequested,
		"message": display.Message("certrotation asks for it: " + why), "observedGeneration": certificate.GetGeneration(),
		"lastTransitionTime": now.UTC().Format(time.RFC3339),
	})
	if err := unstructured.SetNestedSlice(certificate.Object, kept, "status", "conditions"); err != nil {
		return "", fmt.Errorf("conditions of Certificate %s: %w", certificate.GetName(), err)
	}
	return failed, nil
}
