// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/test/cluster/installation"
)

// attackStolenToken tries every verb that changes a Secret with the token of serve.
func attackStolenToken(t *testing.T, w *world) string {
	namespace := w.honest(t)
	token, err := w.admin.CoreV1().ServiceAccounts(installation.Namespace).CreateToken(t.Context(), "certrotation-serve",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	thief := w.account(t, "thief", token.Status.Token)
	if _, err := thief.kube.CoreV1().Secrets(namespace).Get(t.Context(), "pki-server", metav1.GetOptions{}); err != nil {
		t.Fatalf("the token is no token of serve: %v", err)
	}
	if changed := changeSecrets(t.Context(), thief, namespace); len(changed) > 0 {
		return fmt.Sprintf("whoever has the token may %v", changed)
	}
	return ""
}

// loosen permits serve a verb on Secrets. This border is a role, so the role is edited.
func (w *world) loosen(t *testing.T, verb string) (restore func()) {
	t.Helper()
	roles := w.admin.RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), "certrotation-serve", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := role.Rules
	set := func(rules []rbacv1.PolicyRule, allowed bool) {
		role.Rules = rules
		if role, err = roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: serveAccount, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Resource: "secrets", Verb: verb},
		}}
		eventually(t, "kube-apiserver knows the role", func(ctx context.Context) error {
			got, err := w.admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && got.Status.Allowed != allowed {
				err = fmt.Errorf("%s is allowed: %t", verb, got.Status.Allowed)
			}
			return err
		})
	}
	set(append(slices.Clone(rules), may("", []string{"secrets"}, verb)), true)
	return func() { set(rules, false) }
}

// changeSecrets returns the verbs that are not forbidden. All requests are dry runs.
func changeSecrets(ctx context.Context, thief *tenant, namespace string) []string {
	secrets, dry := thief.kube.CoreV1().Secrets(namespace), []string{metav1.DryRunAll}
	var out []string
	for verb, try := range map[string]func() error{
		"create": func() error {
			_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{DryRun: dry})
			return err
		},
		"update": func() error {
			secret, err := secrets.Get(ctx, "pki-server", metav1.GetOptions{})
			if err != nil {
				return err
			}
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{DryRun: dry})
			return err
		},
		"patch": func() error {
			_, err := secrets.Patch(ctx, "pki-server", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: dry})
			return err
		},
		"delete": func() error { return secrets.Delete(ctx, "pki-server", metav1.DeleteOptions{DryRun: dry}) },
	} {
		// The webhook may refuse what RBAC permits, but that is another border.
		if err := try(); err == nil || !forbiddenByRBAC(err) {
			out = append(out, verb)
		}
	}
	return out
}

// forbiddenByRBAC distinguishes a refusal of the authorizer from one of an admission webhook.
func forbiddenByRBAC(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsForbidden(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "secrets"
}
