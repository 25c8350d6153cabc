// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/certmanager"
)

// issuerKey is the key of a Secret where cert-manager writes the certificate of the issuer.
const issuerKey = "ca.crt"

// issuance is a namespace where cert-manager issues certificates.
type issuance struct {
	*plane

	namespace string
	dynamic   dynamic.Interface
}

// newIssuance starts cert-manager for a test.
func newIssuance(t *testing.T, p *plane, namespace string) *issuance {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	process, err := certmanager.Start(ctx, p.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(process.Err(), process.Stop(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	client, err := dynamic.NewForConfig(p.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	makeNamespace(t, p.client, namespace)
	return &issuance{plane: p, namespace: namespace, dynamic: client}
}

// TestCertManagerIssues shows a rotation by cert-manager alone: one write replaces the CA, and its leaves stay, which the new CA does
// not verify. It also shows that annotations of a Secret survive an issuance, and a foreign ca.crt does not.
func TestCertManagerIssues(t *testing.T) {
	t.Parallel()
	s := newIssuance(t, barePlane.use(t), "cert-manager-issues")
	s.create(t,
		certmanager.SelfSignedIssuer(s.namespace, "self-signed"), certmanager.CA(s.namespace, "ca", "self-signed", consent),
		certmanager.CAIssuer(s.namespace, "ca", "ca"), certmanager.Leaf(s.namespace, "leaf", "ca", consent, "localhost"))
	ca, leaf := s.issued(t, "ca", nil), s.issued(t, "leaf", nil)
	s.verify(t, leaf, ca)

	foreign := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/note":"kept"}},"data":{%q:"Zm9yZWlnbg=="}}`, issuerKey)
	if _, err := s.client.CoreV1().Secrets(s.namespace).Patch(
		t.Context(), "leaf", types.MergePatchType, []byte(foreign), metav1.PatchOptions{FieldManager: "somebody"},
	); err != nil {
		t.Fatal(err)
	}
	next := s.reissue(t, leaf)
	s.verify(t, next, ca)
	if bytes.Equal(next.Data[corev1.TLSPrivateKeyKey], leaf.Data[corev1.TLSPrivateKeyKey]) {
		t.Error("the leaf still has its former key")
	}
	for _, key := range []string{"example.com/note", trust.AnnotationConfiguration} {
		if next.Annotations[key] == "" {
			t.Errorf("an issuance has removed the annotation %s", key)
		}
	}

	newCA := s.reissue(t, ca)
	// A later leaf proves that cert-manager has seen the new CA.
	s.create(t, certmanager.Leaf(s.namespace, "later", "ca", consent, "localhost"))
	s.verify(t, s.issued(t, "later", nil), newCA)
	stayed := s.issued(t, "leaf", nil)
	if !bytes.Equal(stayed.Data[corev1.TLSCertKey], next.Data[corev1.TLSCertKey]) {
		t.Error("the leaf has followed its CA")
	}
	if err := verifyLeaf(stayed, newCA.Data[corev1.TLSCertKey]); err == nil {
		t.Error("the new CA verifies the leaf of the former one")
	}
}

func (s *issuance) create(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		resource := certmanager.Certificates
		if object.GetKind() == "Issuer" {
			resource = certmanager.Issuers
		}
		if _, err := s.dynamic.Resource(resource).Namespace(s.namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// reissue requests a new certificate and returns the Secret that has it. No version of the Secret may mix old and new.
func (s *issuance) reissue(t *testing.T, before *corev1.Secret) *corev1.Secret {
	t.Helper()
	if err := certmanager.Reissue(t.Context(), s.dynamic, s.namespace, before.Name); err != nil {
		t.Fatal(err)
	}
	after := s.issued(t, before.Name, before)
	watch, err := s.client.CoreV1().Secrets(s.namespace).Watch(t.Context(), metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", before.Name).String(), ResourceVersion: before.ResourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		secret, ok := event.Object.(*corev1.Secret)
		if !ok {
			t.Fatalf("watch the Secret %s: %v", before.Name, event.Object)
		}
		if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
			t.Errorf("a version of the Secret %s has a certificate and a key that do not match: %v", before.Name, err)
		}
		if secret.ResourceVersion == after.ResourceVersion {
			return after
		}
	}
	t.Fatalf("the watch of the Secret %s has ended", before.Name)
	return nil
}

// issued waits until a Certificate is ready and returns its Secret. The Secret must have another certificate than before, if given.
func (s *issuance) issued(t *testing.T, name string, before *corev1.Secret) *corev1.Secret {
	t.Helper()
	var secret *corev1.Secret
	eventually(t, "cert-manager issues "+name, func(ctx context.Context) error {
		certificate, err := s.dynamic.Resource(certmanager.Certificates).Namespace(s.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !certmanager.HasCondition(certificate, "Ready") || certmanager.HasCondition(certificate, "Issuing") {
			return fmt.Errorf("its status is %v", certificate.Object["status"])
		}
		if secret, err = s.client.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if before != nil && bytes.Equal(secret.Data[corev1.TLSCertKey], before.Data[corev1.TLSCertKey]) {
			return errors.New("the Secret still has the former certificate")
		}
		return nil
	})
	return secret
}

// verify requires that a CA verifies a leaf, and that the leaf's ca.crt is that CA.
func (s *issuance) verify(t *testing.T, leaf, ca *corev1.Secret) {
	t.Helper()
	if err := verifyLeaf(leaf, ca.Data[corev1.TLSCertKey]); err != nil {
		t.Errorf("the CA does not verify %s: %v", leaf.Name, err)
	}
	if !bytes.Equal(leaf.Data[issuerKey], ca.Data[corev1.TLSCertKey]) {
		t.Errorf("%s of %s is not its CA:\n%s", issuerKey, leaf.Name, leaf.Data[issuerKey])
	}
}

func verifyLeaf(leaf *corev1.Secret, anchors []byte) error {
	pair, err := tls.X509KeyPair(leaf.Data[corev1.TLSCertKey], leaf.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(anchors) {
		return errors.New("the CA is not PEM")
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost"})
	return err
}
