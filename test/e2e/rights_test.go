// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhoMayWhat makes requests as several accounts. None of the answers depends on the admission webhook.
func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	const namespace = "rights"
	a, _ := s.startReaders(t, namespace)
	if problem := s.load(t.Context(), t, namespace, a); problem != "" {
		t.Fatal(problem)
	}
	bind := func(role, user string) string {
		t.Helper()
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if _, err := s.kube.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return s.kubeconfig(t, user)
	}
	editor, admin := bind("edit", "editor"), bind("admin", "namespace-admin")
	pki := bind("certrotation-configuration-editor", "pki")
	waiver := bind("certrotation-waiver", "waiver")
	account := func(name string) string {
		return s.kubeconfig(t, "system:serviceaccount:certrotation-system:"+name, "system:serviceaccounts", "system:serviceaccounts:certrotation-system")
	}
	serve := account("certrotation-serve")

	forge := `{"spec":{"evidence":{"party":"reader","member":"a","processes":[]}}}`
	record := "evidence.service.reader.a"
	post := func(subresource string) []string {
		return []string{"create", "--raw", "/apis/certrotation.dev/v1alpha1/namespaces/" + namespace + "/certificaterotations/" + signer + "/" + subresource, "-f", "-"}
	}
	annotate := func(kind, name string, flags ...string) []string {
		return append([]string{"patch", kind, name, "--type=merge", "-p", `{"metadata":{"annotations":{"example.com/try":"1"}}}`}, flags...)
	}
	for _, tc := range []struct {
		name, kubeconfig string
		args             []string
		allowed          bool
	}{
		{"edit reads a configuration", editor, []string{"get", "rotationconfiguration", "service"}, true},
		{"edit changes a configuration", editor, annotate("rotationconfiguration", "service"), false},
		{"edit deletes a configuration", editor, []string{"delete", "rotationconfiguration", "service"}, false},
		{"edit forges evidence", editor, []string{"patch", "rotationrecord", record, "--type=merge", "-p", forge}, false},
		{"edit deletes evidence", editor, []string{"delete", "rotationrecord", record}, false},
		{"edit reads records", editor, []string{"get", "rotationrecords"}, false},
		{"edit waives", editor, post("waive"), false},
		{"admin changes a configuration", admin, annotate("rotationconfiguration", "service"), false},
		{"admin forges evidence", admin, []string{"patch", "rotationrecord", record, "--type=merge", "-p", forge}, false},
		{"admin waives", admin, post("waive"), false},
		{"the editor of configurations changes one", pki, annotate("rotationconfiguration", "service"), true},
		{"the editor of configurations changes its status", pki, annotate("rotationconfiguration", "service", "--subresource=status"), false},
		{"the editor of configurations forges evidence", pki, []string{"patch", "rotationrecord", record, "--type=merge", "-p", forge}, false},
		{"who may waive does", waiver, post("waive"), true},
		{"who may waive rotates", waiver, post("rotate"), false},
		{"serve reads a Secret", serve, []string{"get", "secret", signer}, true},
		{"serve writes a Secret", serve, annotate("secret", signer), false},
		{"serve creates a Secret", serve, []string{"create", "secret", "generic", "mine"}, false},
		{"serve deletes a Secret", serve, []string{"delete", "secret", signer}, false},
		{"serve writes a ConfigMap", serve, annotate("configmap", bundle), false},
		{"serve creates a ConfigMap", serve, []string{"create", "configmap", "mine"}, false},
		{"serve deletes a ConfigMap", serve, []string{"delete", "configmap", bundle}, false},
		{"serve changes a configuration", serve, annotate("rotationconfiguration", "service"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"-n", namespace}, tc.args...)
			if tc.args[0] == "create" && tc.args[1] == "--raw" {
				args = tc.args
			}
			out, err := s.run(t, waiverOfB, tc.kubeconfig, s.Cluster.Tool("kubectl"), args...)
			switch {
			case tc.allowed && err != nil:
				t.Errorf("refused: %v\n%s", err, out)
			case !tc.allowed && err == nil:
				t.Errorf("let through:\n%s", out)
			case !tc.allowed && !strings.Contains(out, "orbidden"):
				t.Errorf("refused, but not by RBAC: %v\n%s", err, out)
			}
		})
	}
}

// waiverOfB is posted to the subresource waive. A server that took it for a rotation request would only rotate.
const waiverOfB = `{"apiVersion":"certrotation.dev/v1alpha1","kind":"Waiver","party":"reader","member":"b","reason":"a test of rights","expiresAfter":"1h"}`

// kubeconfig returns the kubeconfig of a user whose only rights are those bound to it.
func (s *system) kubeconfig(t *testing.T, user string, groups ...string) string {
	t.Helper()
	path, err := s.Cluster.UserKubeconfig(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
