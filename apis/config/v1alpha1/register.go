// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// GroupName is the API group of the custom resources.
	GroupName = "config.certrotation.dev"
	// Kind of the configuration.
	Kind = "RotationConfiguration"
)

var (
	// SchemeGroupVersion is this version of the group.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeBuilder collects the functions that AddToScheme calls.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers the types of the group.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource qualifies a resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&RotationConfiguration{},
		&RotationConfigurationList{},
		&RotationRecord{},
		&RotationRecordList{},
		&StaticPodClass{},
		&StaticPodClassList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
