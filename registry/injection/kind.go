// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Resources of the kinds that hold anchors.
var Resources = map[configv1alpha1.InjectionKind]schema.GroupVersionResource{
	configv1alpha1.InjectValidatingWebhook: {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	configv1alpha1.InjectMutatingWebhook:   {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	configv1alpha1.InjectAPIService:        {Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	configv1alpha1.InjectCustomResource:    {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	configv1alpha1.InjectTrustBundle:       {Group: "certificates.k8s.io", Version: "v1", Resource: "clustertrustbundles"},
}

// NotServed returns the message, with the next step, for a configured kind that the API server does not serve.
func NotServed(kind configv1alpha1.InjectionKind) string {
	resource := Resources[kind]
	return fmt.Sprintf("the API server does not serve %s of %s: have it do so (Kubernetes 1.37 does, unless its feature gate %s is off), or take what is of the kind %s out of bundle.injectInto",
		resource.Resource, resource.GroupVersion(), kind, kind)
}
