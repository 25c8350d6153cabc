// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/test/cluster"
)

// restricted is a user without any right except in the namespaces of bind.
const restricted = "restricted"

// testNamedNamespaces runs with a Role in one namespace and no right in the cluster. The controller serves this
// namespace although the second one has no Role yet. It serves the second without a restart once the Role exists.
func testNamedNamespaces(t *testing.T, c *cluster.Cluster) {
	admin := NewOptions()
	admin.Kubeconfig, admin.BindAddress, admin.LeaderElection.LeaderElect = c.Kubeconfig(), "", false
	owner, err := admin.Config()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bound", "later"} {
		createNamespace(t, owner, name, false)
		configure(t, owner, name)
	}
	bind(t, owner.Client, "bound")
	// The controller reads the kubelets' Leases to check its clock.
	bind(t, owner.Client, corev1.NamespaceNodeLease)

	o := NewOptions()
	o.Kubeconfig, o.BindAddress, o.LeaderElection.LeaderElect, o.InjectCA = impersonating(t, c.Kubeconfig()), "", false, false
	o.Namespaces = []string{"bound", "later"}
	config, err := o.Config()
	if err != nil {
		t.Fatal(err)
	}
	defer start(t, config)()
	made := func(namespace string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			_, err := owner.Client.CoreV1().Secrets(namespace).Get(ctx, "all-certs", metav1.GetOptions{})
			return err == nil
		}
	}
	until(t, "the namespace that is bound is served", made("bound"))
	if made("later")(t.Context()) {
		t.Error("something was written without a right")
	}
	bind(t, owner.Client, "later")
	until(t, "the namespace that is bound later is served", made("later"))
}

// impersonating returns a kubeconfig that impersonates the user restricted.
func impersonating(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = restricted
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// bind gives the user restricted the rights of the controller in one namespace.
func bind(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: restricted}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: verbs},
		{APIGroups: []string{configv1alpha1.GroupName}, Resources: []string{"*"}, Verbs: verbs},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: verbs},
	}}
	if _, err := client.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: restricted},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: restricted},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: restricted}},
	}
	if _, err := client.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
