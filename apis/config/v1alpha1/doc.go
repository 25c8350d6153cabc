// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=config.certrotation.dev

// Package v1alpha1 holds the custom resources that certrotation stores. Users declare trust domains in
// RotationConfigurations. The system stores members and observations in RotationRecords. The owner of the nodes
// permits rollouts in StaticPodClasses. RBAC decides who may configure a PKI and who may write evidence.
//
// Act only upon a spec that Load returned. Load expands the preset, sets the defaults and validates. Its error is
// an aggregate of field errors. The result has no preset, and every optional field that has a default is set.
// Consumers may rely on the rules of Validate: a Secret or ConfigMap is claimed once in the namespace, and each
// leaf has a party that verifies it and one that presents it. Decode reads an object from a file, strictly.
//
// All functions are pure: they read no clock and do no I/O, and may be called from any goroutine. Load and Decode
// return values that the caller owns.
package v1alpha1
