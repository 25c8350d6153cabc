// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Field labels of both resources.
const (
	FieldName        = "metadata.name"
	FieldNamespace   = "metadata.namespace"
	FieldSigner      = "spec.signer"
	FieldTrustDomain = "spec.trustDomain"
	FieldStage       = "status.stage"
	// FieldRole selects CertificateRotations only: a bundle has no role.
	FieldRole = "spec.role"
)

func addFieldLabelConversionFuncs(scheme *runtime.Scheme) error {
	common := []string{FieldName, FieldNamespace, FieldSigner, FieldTrustDomain, FieldStage}
	labels := map[string][]string{
		"CertificateRotation": append([]string{FieldRole}, common...),
		"BundleStatus":        common,
	}
	for kind, supported := range labels {
		gvk := SchemeGroupVersion.WithKind(kind)
		if err := scheme.AddFieldLabelConversionFunc(gvk, fieldLabels(kind, supported)); err != nil {
			return fmt.Errorf("register the field labels of %s: %w", kind, err)
		}
	}
	return nil
}

// fieldLabels accepts the supported labels. It refuses others by name: a mistyped selector is an error, not an
// empty list.
func fieldLabels(kind string, supported []string) runtime.FieldLabelConversionFunc {
	return func(label, value string) (string, string, error) {
		if !slices.Contains(supported, label) {
			return "", "", fmt.Errorf("field label %q is not supported for %s; supported are %q", label, kind, supported)
		}
		return label, value, nil
	}
}
