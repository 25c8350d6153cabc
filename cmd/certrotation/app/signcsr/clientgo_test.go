// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"crypto/x509"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	restclient "k8s.io/client-go/rest"

	"certrotation.dev/registry/csr"
)

// TestClientGo requests certificates with client-go. A signed certificate reads as signed, and a denial is an
// error.
func TestClientGo(t *testing.T) {
	w := newWorld(t, nil)
	for _, contentType := range []string{"", runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run("content type "+contentType, func(t *testing.T) {
			w.t = t
			client, err := certificatesclient.NewForConfig(&restclient.Config{
				Host: w.url(""), BearerToken: testToken, TLSClientConfig: restclient.TLSClientConfig{CAData: w.servingCA.CertPEM()},
				ContentConfig: restclient.ContentConfig{ContentType: contentType},
			})
			if err != nil {
				t.Fatal(err)
			}
			suffix := ""
			if contentType != "" {
				suffix = "-" + contentType[len(contentType)-4:]
			}
			w.asksWith(client, suffix)
			client.RESTClient().(*restclient.RESTClient).Client.CloseIdleConnections()
		})
	}
	w.t = t
}

// asksWith requests certificates with a client. The suffix keeps the names of several calls apart.
func (w *world) asksWith(client *certificatesclient.CertificatesV1Client, suffix string) {
	t := w.t
	t.Helper()
	requests := client.CertificateSigningRequests()

	created, err := requests.Create(t.Context(), object("peer"+suffix, ask(t, nodeKey(t), nil)), metav1.CreateOptions{FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if leaf := csr.Issued(created); leaf == nil || !leaf.SignedBy(w.ca.Certificate) {
		t.Errorf("created: %+v", created.Status)
	}
	read, err := requests.Get(t.Context(), "peer"+suffix, metav1.GetOptions{})
	if err != nil || string(read.Status.Certificate) != string(created.Status.Certificate) {
		t.Errorf("read: %v, %+v", err, read.Status)
	}

	other := object("peer"+suffix, ask(t, newKey(t), nil))
	if _, err = requests.Create(t.Context(), other, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("another request of the same name: %v, want AlreadyExists", err)
	}
	foreign := object("foreign"+suffix, ask(t, nodeKey(t), func(r *x509.CertificateRequest) { r.DNSNames = []string{"evil"} }))
	if _, err = requests.Create(t.Context(), foreign, metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, metav1.CauseType(csr.NameNotAllowed)) {
		t.Errorf("a foreign name: %v, want Forbidden with the cause NameNotAllowed", err)
	}
	denied, err := requests.Get(t.Context(), "foreign"+suffix, metav1.GetOptions{})
	if err != nil || len(denied.Status.Certificate) != 0 || string(denied.Status.Conditions[0].Type) != "Denied" {
		t.Errorf("the denial on record: %v, %+v", err, denied)
	}
	if _, err = requests.Get(t.Context(), "absent", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an absent one: %v, want NotFound", err)
	}
	if _, err = requests.List(t.Context(), metav1.ListOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("list: %v, want MethodNotAllowed", err)
	}
}
