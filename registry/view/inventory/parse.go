// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/pki"
)

// ParseSecret keeps of a Secret of type kubernetes.io/tls what the model needs. The private keys are looked at and
// forgotten.
func ParseSecret(secret *corev1.Secret, certs *pki.Cache) *Secret { return nil }

// ParseOtherSecret keeps of a Secret of another type that it exists, and of an aggregate what is in it.
func ParseOtherSecret(secret *corev1.Secret, certs *pki.Cache) *OtherSecret { return nil }

// ParseConfigMap keeps of a ConfigMap what the model needs.
func ParseConfigMap(cm *corev1.ConfigMap, certs *pki.Cache) *ConfigMap { return nil }

// ParseNode keeps of a Node what the model needs.
func ParseNode(node *corev1.Node) *Node { return nil }
