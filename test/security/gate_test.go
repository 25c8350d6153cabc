// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// attackGate tries to edit a configuration while its rotation waits, so that it no longer has to wait.
func attackGate(t *testing.T, w *world) string {
	namespace := w.honest(t)
	tenant := w.tenant(t, namespace, "tenant", configure())
	// The view of serve may lag behind the writes of the controller.
	eventually(t, "a rotation is asked for", func(ctx context.Context) error {
		_, err := w.own.CertrotationV1alpha1().CertificateRotations(namespace).Rotate(ctx, "pki-signer",
			&v1alpha1.RotationRequest{Reason: "the attack waits for one"}, metav1.CreateOptions{})
		return err
	})
	eventually(t, "the rotation waits for p and q", func(ctx context.Context) error {
		secret, err := w.admin.CoreV1().Secrets(namespace).Get(ctx, "pki-signer", metav1.GetOptions{})
		if err == nil && len(secret.Data["next-tls.crt"]) == 0 {
			err = errors.New("there is no next CA")
		}
		return err
	})
	// The webhook decides by its view, which must include the rotation.
	eventually(t, "the API shows that it waits", func(ctx context.Context) error {
		row, err := w.own.CertrotationV1alpha1().CertificateRotations(namespace).Get(ctx, "pki-signer", metav1.GetOptions{})
		if err == nil && row.Status.Stage != "Distributing" {
			err = fmt.Errorf("the stage is %s", row.Status.Stage)
		}
		return err
	})
	for what, patch := range map[string]string{
		"both parties became gracePeriod": `[
			{"op": "replace", "path": "/spec/trustDomains/0/relyingParties/0/evidence", "value": {"kind": "gracePeriod", "gracePeriod": "1s"}},
			{"op": "replace", "path": "/spec/trustDomains/0/relyingParties/1/evidence", "value": {"kind": "gracePeriod", "gracePeriod": "1s"}}]`,
		"both parties became none": `[
			{"op": "replace", "path": "/spec/trustDomains/0/relyingParties/0/evidence", "value": {"kind": "none", "reason": "I say so"}},
			{"op": "replace", "path": "/spec/trustDomains/0/relyingParties/1/evidence", "value": {"kind": "none", "reason": "I say so"}}]`,
	} {
		_, err := tenant.own.ConfigV1alpha1().RotationConfigurations(namespace).Patch(t.Context(), "pki", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		if err == nil {
			return what + " in flight"
		}
		t.Logf("%s: %v", what, err)
	}
	if secret := w.secret(t, namespace, "pki-signer"); len(secret.Data["previous-tls.crt"]) > 0 {
		return "the next CA was promoted without evidence"
	}
	return ""
}
