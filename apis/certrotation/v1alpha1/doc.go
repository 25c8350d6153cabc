// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=certrotation.dev/apis/certrotation
// +k8s:defaulter-gen=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.certrotation.v1alpha1
// +groupName=certrotation.dev

// Package v1alpha1 is the first served version of the API group certrotation.dev. Clients see it as JSON or YAML.
//
// Its types have the same shape as the hub types of the parent package. Conversion shares memory instead of
// copying: do not change a converted object in place.
package v1alpha1
