// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/cluster"
)

const refusing = "refusing"

// testRefused has the API server refuse writes: first by a quota, then by a policy. The controller records the
// answer, shows it in the status, and removes the record once the write succeeds.
func testRefused(t *testing.T, c *cluster.Cluster) {
	o := NewOptions()
	o.Kubeconfig, o.BindAddress, o.LeaderElection.LeaderElect = c.Kubeconfig(), "", false
	o.Namespaces = []string{refusing}
	config, err := o.Config()
	if err != nil {
		t.Fatal(err)
	}
	client, own := config.Client, config.Own.ConfigV1alpha1()
	createNamespace(t, config, refusing, false)
	limit := quota(t, client, "2")
	configure(t, config, refusing)
	defer start(t, config)()

	// Signer and leaf fill the quota, so it refuses the aggregate.
	expectRefusal(t, own, "Secret/all-certs", "create", "exceeded quota")
	until(t, "the status says so", func(ctx context.Context) bool { return waitsFor(ctx, t, own, "Secret/all-certs") })
	if _, err := client.CoreV1().Secrets(refusing).Get(t.Context(), "web-server", metav1.GetOptions{}); err != nil {
		t.Errorf("what has a place in the quota is not there: %v", err)
	}
	if err := client.CoreV1().ResourceQuotas(refusing).Delete(t.Context(), limit, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expectAccepted(t, own, "Secret/all-certs")
	until(t, "the status says that it is ready", func(ctx context.Context) bool { return readyStatus(ctx, t, own, refusing) })

	before, err := client.CoreV1().Secrets(refusing).Get(t.Context(), "web-server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lift := deny(t, client, before)
	request, err := record.OfRequest(refusing, "web", &trust.Request{Kind: trust.RequestRotate, Secret: "web-server"}, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.RotationRecords(refusing).Create(t.Context(), request, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectRefusal(t, own, "Secret/web-server", "update", "nobody changes this")
	lift()
	expectAccepted(t, own, "Secret/web-server")
	until(t, "the leaf is another one", func(ctx context.Context) bool {
		now, err := client.CoreV1().Secrets(refusing).Get(ctx, "web-server", metav1.GetOptions{})
		return err == nil && string(now.Data[inventory.ActiveCertKey]) != string(before.Data[inventory.ActiveCertKey])
	})
	until(t, "an event says of each write that it is refused", func(context.Context) bool { return warnings(t, client) >= 2 })
	if got := warnings(t, client); got != 2 {
		t.Errorf("%d events say that a write is refused, want one for each", got)
	}
}

// quota limits the number of Secrets in the namespace. It sets the status itself: no quota controller runs in this
// test.
func quota(t *testing.T, client kubernetes.Interface, most string) string {
	t.Helper()
	hard := corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse(most)}
	made, err := client.CoreV1().ResourceQuotas(refusing).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse("0")}}
	if _, err := client.CoreV1().ResourceQuotas(refusing).UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// deny makes an admission policy refuse updates of a Secret. The returned function removes the policy.
func deny(t *testing.T, client kubernetes.Interface, secret *corev1.Secret) (lift func()) {
	t.Helper()
	policies := client.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "somebody-else"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: refusing},
			}, ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				ResourceNames: []string{secret.Name},
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "nobody changes this"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "somebody-else"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "somebody-else", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the policy is in force", func(ctx context.Context) bool {
		_, err := client.CoreV1().Secrets(refusing).Update(ctx, secret, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "nobody changes this")
	})
	return func() {
		if err := policies.ValidatingAdmissionPolicyBindings().Delete(t.Context(), "somebody-else", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func expectRefusal(t *testing.T, own configclient.ConfigV1alpha1Interface, object, verb, answer string) {
	t.Helper()
	until(t, object+" is recorded as refused", func(ctx context.Context) bool {
		r, err := own.RotationRecords(refusing).Get(ctx, record.RefusalName(object), metav1.GetOptions{})
		if err != nil {
			return false
		}
		got := r.Spec.Refusal
		return got != nil && got.Object == object && got.Verb == verb && strings.Contains(got.Answer, answer)
	})
}

func expectAccepted(t *testing.T, own configclient.ConfigV1alpha1Interface, object string) {
	t.Helper()
	until(t, object+" is not recorded as refused any more", func(ctx context.Context) bool {
		_, err := own.RotationRecords(refusing).Get(ctx, record.RefusalName(object), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// waitsFor reports whether the status names an object that the domain waits for.
func waitsFor(ctx context.Context, t *testing.T, own configclient.ConfigV1alpha1Interface, object string) bool {
	t.Helper()
	cfg, err := own.RotationConfigurations(refusing).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(cfg.Status.Conditions, configv1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && strings.Contains(ready.Message, object)
}

// warnings counts the events about refused writes.
func warnings(t *testing.T, client kubernetes.Interface) int {
	t.Helper()
	list, err := client.EventsV1().Events(refusing).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for i := range list.Items {
		if list.Items[i].Reason == "WriteRefused" {
			count++
		}
	}
	return count
}
