// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=certrotation.dev

// Package certrotation holds the hub types of the API group certrotation.dev. Every served version is converted to
// and from them, and the registry works with them.
//
// The two resources, CertificateRotation and BundleStatus, are computed from Secrets, ConfigMaps and evidence. No
// client can write them. Clients write the bodies of the subresources: RotationRequest, AbortRequest,
// AuthorityInstallation, Acknowledgement and Waiver. No type of this group can carry key material.
//
// The types have no behaviour. Objects from a cache or a watch are shared between goroutines: DeepCopy them before
// a change.
package certrotation
