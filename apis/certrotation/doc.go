// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=certrotation.dev

// Package certrotation holds the hub types of the API group certrotation.dev: the shape that every served version is
// converted to and from, and that the registry works with.
//
// The two resources, CertificateRotation and BundleStatus, are computed from Secrets, ConfigMaps and evidence; no client
// can write them. What clients write are the bodies of the subresources: RotationRequest, AbortRequest and
// Acknowledgement. No type of this group can carry key material.
//
// The types are plain values without behaviour. An object that came out of a cache or a watch is shared between
// goroutines: whoever wants to change it makes a DeepCopy first.
package certrotation
