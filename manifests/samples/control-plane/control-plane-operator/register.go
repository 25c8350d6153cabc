// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"

	"certrotation.dev/controller/secrets/kinds"
)

// register tells the control plane where its node is, and by which CAs to verify the webhook there.
func (o *operator) register(ctx context.Context, namespace string, made *generated) error {
	client, err := made.connect(namespace)
	if err != nil {
		return err
	}
	host := node + "." + namespace + ".svc"
	options := metav1.ApplyOptions{FieldManager: identity, Force: true}
	if _, err := client.CoreV1().Nodes().Apply(ctx, corev1apply.Node(node), options); err != nil {
		return fmt.Errorf("register the node of %s: %w", namespace, err)
	}
	status := corev1apply.NodeStatus().
		WithAddresses(corev1apply.NodeAddress().WithType(corev1.NodeHostName).WithAddress(host)).
		WithDaemonEndpoints(corev1apply.NodeDaemonEndpoints().WithKubeletEndpoint(corev1apply.DaemonEndpoint().WithPort(nodePort)))
	if _, err := client.CoreV1().Nodes().ApplyStatus(ctx, corev1apply.Node(node).WithStatus(status), options); err != nil {
		return fmt.Errorf("register the address of the node of %s: %w", namespace, err)
	}
	webhook := admissionregistrationapply.ValidatingWebhook().
		WithName("node.control-plane.certrotation.dev").
		WithClientConfig(admissionregistrationapply.WebhookClientConfig().
			WithURL(fmt.Sprintf("https://%s:%d/validate", host, nodePort)).
			WithCABundle(made.bundles[caKubelet].Data[kinds.DataKeyCertificateBundle]...)).
		WithRules(admissionregistrationapply.RuleWithOperations().
			WithOperations(admissionregistrationv1.Create, admissionregistrationv1.Update).
			WithAPIGroups("").WithAPIVersions("v1").WithResources("secrets")).
		WithFailurePolicy(admissionregistrationv1.Fail).WithSideEffects(admissionregistrationv1.SideEffectClassNone).
		WithTimeoutSeconds(5).WithAdmissionReviewVersions("v1")
	configuration := admissionregistrationapply.ValidatingWebhookConfiguration(node).WithWebhooks(webhook)
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Apply(ctx, configuration, options); err != nil {
		return fmt.Errorf("register the webhook of %s: %w", namespace, err)
	}
	return nil
}
