// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// attackReader reads all that the virtual API, the configurations and the events show. It searches for the name and
// the fingerprint of a CA whose Secret has not consented.
func attackReader(t *testing.T, w *world) string {
	namespace := w.namespace(t, true)
	secretly := authority(t, "a name that nobody may know")
	w.keep(t, namespace, "existing-ca", secretly)
	tenant := w.tenant(t, namespace, "tenant", configure(),
		may("certrotation.dev", []string{"certificaterotations", "bundlestatuses"}, "get", "list", "watch"),
		may("", []string{"events"}, "list"))
	configureAs(t, tenant.own, namespace, systemMasters)
	eventually(t, "certrotation meets the configuration", func(ctx context.Context) error {
		if w.secret(t, namespace, "masters") != nil {
			return nil
		}
		return w.unadopted(ctx, namespace, "existing-ca")
	})
	for _, path := range []string{
		"/apis/certrotation.dev/v1alpha1/namespaces/" + namespace + "/certificaterotations",
		"/apis/certrotation.dev/v1alpha1/namespaces/" + namespace + "/bundlestatuses",
		"/apis/config.certrotation.dev/v1alpha1/namespaces/" + namespace + "/rotationconfigurations",
		"/api/v1/namespaces/" + namespace + "/events",
	} {
		for _, accept := range []string{"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"} {
			text, err := tenant.kube.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", accept).DoRaw(t.Context())
			if err != nil {
				t.Fatalf("read %s: %v", path, err)
			}
			for what, known := range map[string]string{
				"subject":       secretly.Certificate.CommonName,
				"fingerprint":   string(secretly.Certificate.Fingerprint),
				"serial number": secretly.Certificate.SerialNumber,
			} {
				if strings.Contains(string(text), known) {
					return fmt.Sprintf("%s tells the %s", path, what)
				}
			}
		}
	}
	return ""
}

// attackKeys searches the output of certrotation for bytes of any key of the cluster: its logs, metrics, events,
// records, the virtual API, and denials.
func attackKeys(t *testing.T, w *world) string {
	namespace := w.honest(t)
	secrets, err := w.admin.CoreV1().Secrets("").List(t.Context(), listAll)
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]string
	for i := range secrets.Items {
		for name, value := range secrets.Items[i].Data {
			if strings.HasSuffix(name, ".key") {
				keys = append(keys, canaries(value))
			}
		}
	}
	if len(keys) < 2 {
		t.Fatalf("%d keys, want those of two domains at least", len(keys))
	}
	for what, said := range w.said(t, namespace) {
		for _, key := range keys {
			for _, canary := range key {
				if strings.Contains(said, canary) {
					return what + " has a part of a key"
				}
			}
		}
	}
	return ""
}

// forge tries to write another key into the Secret of a leaf. It returns the guard's denial.
func (w *world) forge(t *testing.T, namespace string) string {
	t.Helper()
	secret := w.secret(t, namespace, "pki-server")
	foreign, err := authority(t, "foreign").KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	secret.Data[corev1.TLSPrivateKeyKey] = foreign
	_, err = w.admin.CoreV1().Secrets(namespace).Update(t.Context(), secret, updateDryRun)
	if err == nil {
		t.Fatal("the guard let a key of another certificate through")
	}
	return err.Error()
}
