// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// attackDial tries to make the controller probe addresses of its own machine, in all notations.
func attackDial(t *testing.T, w *world) string {
	inside := listen(t, "127.0.0.1:0")
	_, port, err := net.SplitHostPort(inside.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "::ffff:127.0.0.1"} {
		namespace := w.namespace(t, true)
		tenant := w.tenant(t, namespace, "tenant", configure())
		configureAs(t, tenant.own, namespace, probing("pki-signer", net.JoinHostPort(host, port)))
		w.probed(t, namespace)
		if n := inside.met.Load(); n > 0 {
			return fmt.Sprintf("%d connections to the loopback as %s", n, host)
		}
	}
	return ""
}

// probed waits until the result of a probe in a namespace is recorded, whatever it is.
func (w *world) probed(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "a look at the server", func(ctx context.Context) error {
		records, err := w.own.ConfigV1alpha1().RotationRecords(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range records.Items {
			if records.Items[i].Spec.Kind == configv1alpha1.RecordEvidence {
				return nil
			}
		}
		return errors.New("nothing is recorded")
	})
}
