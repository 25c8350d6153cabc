// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=config.certrotation.dev

// Package v1alpha1 is what certrotation stores beside Secrets and ConfigMaps: RotationConfigurations, in which people
// declare trust domains, and RotationRecords, in which the system remembers who counts and what was seen. Both are custom
// resources, so that RBAC says who may configure a PKI and who may speak for a member.
//
// Load is the one way from the spec of a RotationConfiguration to one that may be acted upon. It expands the preset, fills
// in the defaults and validates, and its error is an aggregate of field errors. What Load returns has no preset and no
// empty optional field that has a default; every consumer may rely on the rules of Validate, such as that a Secret or
// ConfigMap is claimed once in the namespace, and that each leaf has a party that verifies it and one that presents it.
// Decode reads an object from a file, strictly.
//
// All functions are pure: they read no clock and do no I/O, and may be called from any goroutine. Load, Decode and Expand
// return values that the caller owns.
package v1alpha1
