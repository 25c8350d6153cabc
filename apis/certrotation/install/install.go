// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
)

// Install registers the hub and every served version of certrotation.dev, the preferred version first.
// It panics when the types of the group contradict each other or those of the scheme, which no input can cause.
func Install(scheme *runtime.Scheme) {
	utilruntime.Must(certrotation.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion))
}

// NewScheme makes a scheme that an API server of the group can run with: the group, and the unversioned types that
// every API server answers with (status, discovery, options).
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	Install(scheme)

	legacy := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, legacy)
	scheme.AddUnversionedTypes(legacy,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return scheme
}
