// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the virtual resources.
const GroupName = "certrotation.dev"

var (
	// SchemeGroupVersion is this version of the group.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeBuilder collects the functions that AddToScheme calls.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes, addDefaultingFuncs, addFieldLabelConversionFuncs)
	// AddToScheme registers the types, their defaults, their conversions and their field labels.
	AddToScheme = SchemeBuilder.AddToScheme

	// The generated conversions register themselves here.
	localSchemeBuilder = &SchemeBuilder
)

// Resource qualifies a resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&CertificateRotation{},
		&CertificateRotationList{},
		&BundleStatus{},
		&BundleStatusList{},
		&RotationRequest{},
		&AbortRequest{},
		&SigningRequest{},
		&AuthorityInstallation{},
		&RotationPlan{},
		&Acknowledgement{},
		&Waiver{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
