// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// NewCodecs makes the codecs for a scheme. Lists are encoded to JSON item by item, so that a large list does not exist
// twice in memory.
func NewCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON())
}

// NewNegotiatedSerializer makes the serializer to serve the group with. It offers JSON and YAML only: the types have no
// protobuf encoding, and offering one would turn a client's preference into an error 406 instead of a JSON answer.
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
