// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certrotation

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the virtual resources.
const GroupName = "certrotation.dev"

var (
	// SchemeGroupVersion is the hub version of the group.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: runtime.APIVersionInternal}
	// SchemeBuilder collects the functions that AddToScheme calls.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers the hub types.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind qualifies a kind with the group.
func Kind(kind string) schema.GroupKind {
	return SchemeGroupVersion.WithKind(kind).GroupKind()
}

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
	return nil
}
