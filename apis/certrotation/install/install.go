// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
)

// Install registers the hub and every served version of certrotation.dev, the preferred version first. It panics
// if the types contradict each other or the types of the scheme. No input can cause that.
func Install(scheme *runtime.Scheme) {
	utilruntime.Must(certrotation.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion))
}

// NewScheme makes a scheme for an API server: the group, and the unversioned types of every API server (status,
// discovery).
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

// NewCodecs makes the codecs for a scheme. Lists are encoded to JSON item by item: a large list does not exist
// twice in memory.
func NewCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON())
}

// NewNegotiatedSerializer makes the serializer that serves the group, in JSON and YAML only. The types have no
// protobuf encoding. A server that offers protobuf answers clients that prefer it with 406 instead of JSON.
func NewNegotiatedSerializer(codecs serializer.CodecFactory) runtime.NegotiatedSerializer {
	return textSerializer{CodecFactory: codecs}
}

type textSerializer struct {
	serializer.CodecFactory
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s textSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(s.CodecFactory.SupportedMediaTypes()), func(info runtime.SerializerInfo) bool {
		return info.MediaType == runtime.ContentTypeProtobuf
	})
}
