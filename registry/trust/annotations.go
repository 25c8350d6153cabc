// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"strings"
)

// Annotations and labels of library-go, which are kept up to date under the same names
// (reference: openshift/library-go pkg/operator/certrotation).
const (
	AnnotationNotBefore     = "auth.openshift.io/certificate-not-before"
	AnnotationNotAfter      = "auth.openshift.io/certificate-not-after"
	AnnotationIssuer        = "auth.openshift.io/certificate-issuer"
	AnnotationHostnames     = "auth.openshift.io/certificate-hostnames"
	AnnotationRefreshPeriod = "certificates.openshift.io/refresh-period"
	// AnnotationRolloutRevision is the gate of cluster-etcd-operator on its aggregate of bundles.
	AnnotationRolloutRevision = "openshift.io/ceo-bundle-rollout-revision"
	// AnnotationDeleteGraceStart is cluster-etcd-operator's, on what belongs to a node that left: RFC3339 of when that was
	// noticed.
	AnnotationDeleteGraceStart = "openshift.io/ceo-delete-grace-start"

	LabelManagedType = "auth.openshift.io/managed-certificate-type"
)

// Values of LabelManagedType.
const (
	ManagedTypeSigner = "signer"
	ManagedTypeTarget = "target"
	ManagedTypeBundle = "ca-bundle"
)

// Annotations and labels of certrotation.
const (
	// AnnotationCompromised is on a signer: the fingerprint of a CA whose key must not be trusted any longer than needed.
	AnnotationCompromised = "certrotation.dev/compromised"
	// AnnotationPlan is on a signer: the hash of the plan of the last rotation that began.
	AnnotationPlan = "certrotation.dev/plan"
	// AnnotationAnswered is on a signer or a leaf: space separated UIDs of recorded requests that were answered by what it
	// holds.
	AnnotationAnswered = "certrotation.dev/answered"
	// AnnotationPublished is on a bundle: space separated FINGERPRINT=RFC3339 of when each anchor was published.
	AnnotationPublished = "certrotation.dev/published"
	// AnnotationIssuedAt is on a leaf: RFC3339 of when it was issued (its not-before is back-dated).
	AnnotationIssuedAt = "certrotation.dev/issued-at"
	// AnnotationPromotedAt is on a signer: RFC3339 of the last promotion.
	AnnotationPromotedAt = "certrotation.dev/promoted-at"

	// AnnotationConfiguration is the consent of a Secret or a ConfigMap: the name of the RotationConfiguration of its namespace
	// that may use it. Whoever may write the object gives it; what the controller makes has it from birth.
	AnnotationConfiguration = "certrotation.dev/configuration"

	// LabelManaged, with the value ManagedValue on a Namespace, is the consent of the cluster's owner: in no other namespace
	// anything is read, dialled or written.
	LabelManaged = "certrotation.dev/managed"
	ManagedValue = "true"
	// LabelTrustDomain is on every object that the controller writes; its value is the domain's name.
	LabelTrustDomain = "certrotation.dev/trust-domain"
	// LabelAggregate marks aggregate Secrets and ConfigMaps.
	LabelAggregate = "certrotation.dev/aggregate"
	// LabelCopyOf marks copies of bundles and leaves; its value is NAMESPACE.NAME of the source as far as a label can hold
	// it. AnnotationCopyOf says the same as NAMESPACE/NAME.
	LabelCopyOf      = "certrotation.dev/copy-of"
	AnnotationCopyOf = "certrotation.dev/copy-of"
	// CopiesFrom, as an annotation of a Namespace, lists what it accepts as copies, separated by commas: FROM/Secret/NAME or
	// FROM/ConfigMap/NAME, where FROM is the namespace of the configuration that asks for it and NAME that of the copy.
	CopiesFrom = "certrotation.dev/copies-from"
)

// KnownAnnotation says whether the model looks at an annotation.
func KnownAnnotation(key string) bool {
	return strings.HasPrefix(key, "certrotation.dev/") ||
		strings.HasPrefix(key, "auth.openshift.io/certificate-") ||
		key == AnnotationRefreshPeriod || key == AnnotationRolloutRevision || key == AnnotationDeleteGraceStart
}

// KnownLabel says whether the model looks at a label.
func KnownLabel(key string) bool {
	return strings.HasPrefix(key, "certrotation.dev/") || key == LabelManagedType
}
