// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// attackEvidence tries to report for the members of another party, by the API and by writing records.
func attackEvidence(t *testing.T, w *world) string {
	namespace := w.honest(t)
	acknowledge := may("certrotation.dev", []string{"certificaterotations/acknowledge"}, "create")
	acknowledge.ResourceNames = []string{"pki-signer", "pki-signer/p/p"}
	p := w.tenant(t, namespace, "p", acknowledge)

	report := func(party string) error {
		_, err := p.own.CertrotationV1alpha1().CertificateRotations(namespace).Acknowledge(t.Context(), "pki-signer",
			&v1alpha1.Acknowledgement{
				Party: party, Instance: "1", StartedAt: metav1.NowMicro(), ObservedAt: metav1.NowMicro(), Trusts: []string{fingerprint},
			}, metav1.CreateOptions{})
		return err
	}
	if err := report("p"); err != nil {
		t.Fatalf("a party cannot report for itself: %v", err)
	}
	if err := report("q"); err == nil {
		return "p has reported for q"
	}
	return writeRecord(t, w, namespace, p)
}

// fingerprint belongs to no certificate.
const fingerprint = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// writeRecord tries to write records as a user with the role admin.
func writeRecord(t *testing.T, w *world, namespace string, p *tenant) string {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: p.name}},
	}
	if _, err := w.admin.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	records, err := w.own.ConfigV1alpha1().RotationRecords(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(records.Items) == 0 {
		t.Fatal("nothing is recorded")
	}
	theirs := p.own.ConfigV1alpha1().RotationRecords(namespace)
	if _, err := theirs.Update(t.Context(), &records.Items[0], metav1.UpdateOptions{}); err == nil {
		return "the administrator of a namespace has written a record"
	}
	if err := theirs.Delete(t.Context(), records.Items[0].Name, metav1.DeleteOptions{}); err == nil {
		return "the administrator of a namespace has deleted a record"
	}
	forged := &configv1alpha1.RotationRecord{ObjectMeta: metav1.ObjectMeta{Name: "forged"}, Spec: records.Items[0].Spec}
	if _, err := theirs.Create(t.Context(), forged, metav1.CreateOptions{}); err == nil {
		return fmt.Sprintf("the administrator of a namespace has made a record of the kind %s", forged.Spec.Kind)
	}
	return ""
}
