// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
)

// defaultSystem is the namespace of an installation whose APIService does not name another.
const defaultSystem = "certrotation-system"

// Groups of checks.
const (
	groupAPI            = "API"
	groupDefinitions    = "definitions"
	groupGuard          = "guard"
	groupPrograms       = "programs"
	groupOwnCA          = "own CA"
	groupCertificates   = "certificates"
	groupRotations      = "rotations"
	groupConfigurations = "configurations"
	groupClocks         = "clocks"
	groupRights         = "your rights"
)

var (
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// howToInstall is the next step where a part of the installation is missing.
const howToInstall = "Apply the installation again (docs/install.md)"

// checkAPI returns the APIService, nil if there is none to be seen.
func (e *examination) checkAPI(ctx context.Context) *unstructured.Unstructured {
	service, err := e.objects.Resource(apiServices).Get(ctx, apiService, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		e.missingAPI(ctx)
		return nil
	case err != nil:
		e.unread(groupAPI, "get", apiServices.GroupResource().String(), "", err)
		return nil
	}
	if namespace, _, _ := unstructured.NestedString(service.Object, "spec", "service", "namespace"); namespace != "" {
		e.system = namespace
	}
	if is, message := conditionOf(service, "Available"); !is {
		e.add(groupAPI, failedCheck,
			fmt.Sprintf("certrotation is half installed or down: the APIService %s is not available: %s", apiService, message),
			fmt.Sprintf("kubectl get pods -n %s -o wide; kubectl get apiservice %s -o yaml", e.system, apiService))
		return service
	}
	e.passed(groupAPI, apiService+" is available")
	return service
}

// missingAPI tells an installation of another version from a missing one.
func (e *examination) missingAPI(ctx context.Context) {
	all, err := e.objects.Resource(apiServices).List(ctx, metav1.ListOptions{})
	if err == nil {
		for i := range all.Items {
			group, _, _ := unstructured.NestedString(all.Items[i].Object, "spec", "group")
			version, _, _ := unstructured.NestedString(all.Items[i].Object, "spec", "version")
			if group == v1alpha1.GroupName {
				e.add(groupAPI, failedCheck,
					fmt.Sprintf("the cluster serves %s/%s, and this plugin reads %s", group, version, v1alpha1.SchemeGroupVersion),
					"Use the plugin of the release that is installed: kubectl get deployments -n "+e.system+" -o wide")
				return
			}
		}
	}
	if _, err := e.objects.Resource(definitions).Get(ctx, ownDefinitions()[0], metav1.GetOptions{}); err == nil {
		e.add(groupAPI, failedCheck,
			"certrotation is half installed: its definitions are here, and the APIService "+apiService+" is not",
			howToInstall)
		return
	}
	e.add(groupAPI, failedCheck,
		"certrotation is not installed in this cluster: there is no APIService "+apiService,
		"Install it (docs/install.md), or choose another cluster (--context)")
}

// conditionOf reports whether a condition of an unstructured object is true, and why not.
func conditionOf(o *unstructured.Unstructured, kind string) (is bool, message string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["type"] == kind {
			return fields["status"] == string(metav1.ConditionTrue), fmt.Sprint(fields["message"])
		}
	}
	return false, "it has no condition " + kind
}

func ownDefinitions() []string {
	out := []string{"rotationconfigurations", "rotationrecords", "staticpodclasses"}
	for i := range out {
		out[i] += "." + configv1alpha1.GroupName
	}
	return out
}

func (e *examination) checkDefinitions(ctx context.Context) {
	apply := "kubectl apply -k manifests/crds"
	good := true
	for _, name := range ownDefinitions() {
		definition, err := e.objects.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			good = false
			e.add(groupDefinitions, failedCheck, "the CustomResourceDefinition "+name+" does not exist", apply)
			continue
		case err != nil:
			e.unread(groupDefinitions, "get", definitions.GroupResource().String(), "", err)
			return
		}
		if is, message := conditionOf(definition, "Established"); !is {
			good = false
			e.add(groupDefinitions, failedCheck,
				fmt.Sprintf("the CustomResourceDefinition %s is not established: %s", name, message),
				"kubectl describe crd "+name)
		}
		if !serves(definition, configv1alpha1.SchemeGroupVersion.Version) {
			good = false
			e.add(groupDefinitions, failedCheck,
				fmt.Sprintf("the CustomResourceDefinition %s does not serve %s", name, configv1alpha1.SchemeGroupVersion.Version),
				apply)
		}
	}
	if good {
		e.passed(groupDefinitions, plural(len(ownDefinitions()), "CustomResourceDefinition")+" are established")
	}
}

// serves reports whether a CustomResourceDefinition serves a version.
func serves(definition *unstructured.Unstructured, version string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return slices.ContainsFunc(versions, func(v any) bool {
		fields, _ := v.(map[string]any)
		return fields["name"] == version && fields["served"] == true
	})
}

const guardName = "certrotation-guard"

// checkGuard compares the webhooks with those of the installation.
func (e *examination) checkGuard(ctx context.Context) {
	client := e.core.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := client.Get(ctx, guardName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		e.add(groupGuard, failedCheck, "the ValidatingWebhookConfiguration "+guardName+" does not exist: no edit is refused", howToInstall)
		return
	case err != nil:
		e.unread(groupGuard, "get", "validatingwebhookconfigurations."+admissionregistrationv1.GroupName, "", err)
		return
	}
	good := true
	good = e.checkWebhook(configuration, "guard.certrotation.dev", admissionregistrationv1.Fail) && good
	good = e.checkWebhook(configuration, "configuration.certrotation.dev", admissionregistrationv1.Ignore) && good
	if good {
		e.passed(groupGuard, guardName+" judges edits")
	}
}

// checkWebhook reports whether a webhook is as the installation has it.
func (e *examination) checkWebhook(
	configuration *admissionregistrationv1.ValidatingWebhookConfiguration, name string, policy admissionregistrationv1.FailurePolicyType,
) bool {
	look := "kubectl get validatingwebhookconfiguration " + guardName + " -o yaml"
	for i := range configuration.Webhooks {
		w := &configuration.Webhooks[i]
		if w.Name != name {
			continue
		}
		problem := e.problemOfCaller(&w.ClientConfig)
		if problem != "" {
			e.add(groupGuard, failedCheck, fmt.Sprintf("kube-apiserver cannot call the webhook %s: %s", name, problem), look)
		}
		if p := w.FailurePolicy; p != nil && *p != policy {
			e.add(groupGuard, warningCheck,
				fmt.Sprintf("the webhook %s has the failurePolicy %s, and is installed with %s", name, *p, policy),
				howToInstall)
			return false
		}
		return problem == ""
	}
	e.add(groupGuard, failedCheck, fmt.Sprintf("%s lacks the webhook %s", guardName, name), howToInstall)
	return false
}

// problemOfCaller is why kube-apiserver cannot verify the server of a webhook. It needs no caBundle to call itself.
func (e *examination) problemOfCaller(c *admissionregistrationv1.WebhookClientConfig) string {
	if s := c.Service; s != nil && s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes" && len(c.CABundle) == 0 {
		return ""
	}
	_, problem := usableAnchors(c.CABundle, e.now)
	return problem
}

// usableAnchors returns the certificates of a caBundle, and what is wrong with them.
func usableAnchors(caBundle []byte, now time.Time) (anchors []*pki.Certificate, problem string) {
	if len(bytes.TrimSpace(caBundle)) == 0 {
		return nil, "its caBundle is empty"
	}
	anchors, err := pki.ParseBundle(caBundle)
	if err != nil {
		return nil, "its caBundle cannot be parsed"
	}
	for _, ca := range anchors {
		if ca.ValidAt(now) {
			return anchors, ""
		}
	}
	return anchors, "no certificate of its caBundle is valid now"
}
