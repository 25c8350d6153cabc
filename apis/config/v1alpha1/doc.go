// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=config.certrotation.dev

// Package v1alpha1 is the configuration format of certrotation: one RotationConfiguration for each namespace, stored in
// a labelled ConfigMap.
//
// Load is the one way from bytes to a configuration that may be acted upon. It decodes strictly, expands the preset,
// fills in the defaults and validates, and its error is an aggregate of field errors. What Load returns has no preset
// and no empty optional field that has a default; every consumer may rely on the rules of Validate, such as that a
// Secret or ConfigMap is claimed once in the namespace.
//
// All functions are pure: they read no clock and do no I/O, and may be called from any goroutine. Load, Decode and Expand
// return values that the caller owns.
package v1alpha1
