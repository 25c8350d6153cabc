// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
)

// installed is what doctor reads.
type installed struct {
	service       *apiregistrationv1.APIService
	definitions   []*apiextensionsv1.CustomResourceDefinition
	guard         *admissionregistrationv1.ValidatingWebhookConfiguration
	deployments   []*appsv1.Deployment
	lease         *coordinationv1.Lease
	configuration *configv1alpha1.RotationConfiguration
	// own is certrotation's own signer, and domain has the objects of a trust domain.
	own    *v1alpha1.CertificateRotation
	domain []runtime.Object
}

// healthyCluster returns an installation with one trust domain at rest.
func healthyCluster(t *testing.T) *installed {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "own", Key: pki.ECDSAP256, Validity: 365 * 24 * time.Hour, Backdate: 24 * time.Hour}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	c := &installed{
		service: &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: apiService, Annotations: map[string]string{injection.Annotation: defaultSystem + "/own-ca-bundle"}},
			Spec: apiregistrationv1.APIServiceSpec{
				Group: v1alpha1.GroupName, Version: "v1alpha1", CABundle: ca.CertPEM(),
				Service: &apiregistrationv1.ServiceReference{Namespace: defaultSystem, Name: "certrotation"},
			},
			Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
				{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Message: "all checks passed"},
			}},
		},
		guard: &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: guardName},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{
				webhook("guard.certrotation.dev", admissionregistrationv1.Fail), webhook("configuration.certrotation.dev", admissionregistrationv1.Ignore),
			},
		},
		deployments: []*appsv1.Deployment{deployment("certrotation-serve"), deployment(leaderLease)},
		lease: &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: defaultSystem, Name: leaderLease},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: testNow.Add(-2 * time.Second)}, LeaseDurationSeconds: new(int32(15))},
		},
		configuration: &configv1alpha1.RotationConfiguration{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "service", Generation: 1},
			Status: configv1alpha1.RotationConfigurationStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
				condition(configv1alpha1.ConditionAccepted, true, ""), condition(configv1alpha1.ConditionReady, true, ""),
			}},
		},
		own: signer(func(o *v1alpha1.CertificateRotation) {
			o.Namespace, o.Name, o.Spec.Signer = defaultSystem, "own-signer", "own-signer"
			o.Status.Certificate = certificate(string(ca.Certificate.Fingerprint), "CN=own", "")
		}),
		domain: []runtime.Object{signer(), leaf("service-server", oldCA), atRest(bundle())},
	}
	for _, name := range ownDefinitions() {
		c.definitions = append(c.definitions, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}}},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}},
		})
	}
	return c
}

func webhook(name string, policy admissionregistrationv1.FailurePolicyType) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{Name: name, FailurePolicy: &policy, ClientConfig: admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: metav1.NamespaceDefault, Name: "kubernetes"},
	}}
}

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: defaultSystem, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "certrotation:v0.1.0"}}}},
		},
		Status: appsv1.DeploymentStatus{AvailableReplicas: 2},
	}
}

// atRest keeps only the active anchor of a bundle.
func atRest(b *v1alpha1.BundleStatus) *v1alpha1.BundleStatus {
	b.Status.Anchors = b.Status.Anchors[:1]
	return b
}

func (c *installed) objects() []runtime.Object {
	var out []runtime.Object
	if c.service != nil {
		out = append(out, c.service)
	}
	for _, d := range c.definitions {
		out = append(out, d)
	}
	if c.guard != nil {
		out = append(out, c.guard)
	}
	for _, d := range c.deployments {
		out = append(out, d)
	}
	if c.lease != nil {
		out = append(out, c.lease)
	}
	own := atRest(bundle())
	own.Namespace, own.Name, own.Spec.Signer = defaultSystem, "own-ca-bundle", "own-signer"
	return append(out, append(c.domain, c.configuration, c.own, own)...)
}

// removed is a cluster without any of certrotation.
func (c *installed) removed() {
	c.service, c.definitions, c.guard, c.deployments, c.lease = nil, nil, nil, nil, nil
}

// onlyLooks fails a test if the command wrote, read a Secret, or printed a PEM.
func onlyLooks(t *testing.T, s *shell) {
	t.Helper()
	for _, out := range []string{s.out.String(), s.errOut.String()} {
		if strings.Contains(out, "-----BEGIN") {
			t.Errorf("the output has a PEM:\n%s", out)
		}
	}
	for _, action := range s.api.Actions() {
		verb, resource := action.GetVerb(), action.GetResource().Resource
		if verb != "get" && verb != "list" && resource != "selfsubjectaccessreviews" || resource == "secrets" {
			t.Errorf("does %s %s", verb, resource)
		}
	}
}
