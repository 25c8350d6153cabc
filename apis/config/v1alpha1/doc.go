// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=config.certrotation.dev

// Package v1alpha1 holds the custom resources that certrotation stores: RotationConfigurations, in which people declare
// trust domains; RotationRecords, in which the system stores who counts and what was observed; and StaticPodClasses, in
// which the owner of the nodes permits rollouts. As custom resources they are subject to RBAC, which decides who may
// configure a PKI and who may write evidence.
//
// Load is the only way from the spec of a RotationConfiguration to one that may be acted upon. It expands the preset,
// sets the defaults and validates; its error is an aggregate of field errors. The result has no preset and every
// optional field that has a default is set. Consumers may rely on the rules of Validate, such as that a Secret or
// ConfigMap is claimed once in the namespace, and that each leaf has a party that verifies it and one that presents it.
// Decode reads an object from a file, strictly.
//
// All functions are pure: they read no clock and do no I/O, and may be called from any goroutine. Load and Decode
// return values that the caller owns.
package v1alpha1
