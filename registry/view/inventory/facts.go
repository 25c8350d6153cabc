// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/address"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/rollout"
)

// Pair is what is known of a certificate and its key in a Secret. The key itself is not kept.
type Pair struct {
	// Certificates in the order of the PEM; empty if there are none or the PEM is broken. They are kept when only
	// the key is at fault.
	Certificates []*pki.Certificate
	// Fault is nil if the pair is sound or empty.
	Fault *Fault
}

// Empty says whether there is neither a certificate nor a key.
func (p *Pair) Empty() bool { return len(p.Certificates) == 0 && p.Fault == nil }

// Secret is what is known of a Secret of type kubernetes.io/tls. Whether it is a signer or a leaf is for the
// configuration to say, so both are parsed.
//
// Of the metadata there are name, namespace, UID, resource version, creation time, and the annotations and labels that
// the model knows.
type Secret struct {
	metav1.ObjectMeta
	// Active is the pair under tls.crt and tls.key: an active CA, or a leaf with its chain.
	Active Pair
	// Next and Previous are the other slots of a signer. Previous has one certificate for each previous CA.
	Next, Previous Pair
	// Authorities are the certificates under ca.crt, whatever they are.
	Authorities []*pki.Certificate
	// AuthoritiesFault says what is wrong with ca.crt; an empty value is fine.
	AuthoritiesFault *Fault
	// DataBytes is the size of all values.
	DataBytes int
	// ContentHash is that of registry/contenthash, "" if the Secret consents to no configuration, and Superseded are those that it says
	// it has replaced.
	ContentHash string
	Superseded  []string
	// Immutable says that the API server refuses any change of the content.
	Immutable bool
}

// OtherSecret is what is known of a Secret of another type: that it exists.
type OtherSecret struct {
	metav1.ObjectMeta
	// Aggregate is the content of a Secret with the label trust.LabelAggregate, nil for any other.
	Aggregate *AggregateSecret
	// Immutable is known of an aggregate only.
	Immutable bool
}

// AggregateSecret is the content of an aggregate Secret.
type AggregateSecret struct {
	// Keys of the Secret, ordered.
	Keys []string
	// Pairs by name of the leaf: the fingerprint of its certificate. A pair that is broken, or whose key does not
	// belong to its certificate, is left out.
	Pairs map[string]pki.Fingerprint
}

// ConfigMap is what is known of a ConfigMap. Apart from the metadata each part is nil unless the ConfigMap is of that
// kind; a bare name is left of one that concerns nobody here.
type ConfigMap struct {
	metav1.ObjectMeta
	// Bundle of a ConfigMap with the key BundleKey.
	Bundle *Bundle
	// Aggregate of a ConfigMap with the label trust.LabelAggregate: the anchors by key, an empty list where the
	// value is not readable.
	Aggregate map[string][]pki.Fingerprint
	// Rollout of a ConfigMap with the label rollout.LabelStatus.
	Rollout *RolloutStatus
	// Immutable says that the API server refuses any change of the content.
	Immutable bool
	// ContentHash of a bundle is that of registry/contenthash, and Superseded are those that it says it has replaced.
	ContentHash string
	Superseded  []string
}

// RolloutStatus is what the controller has written of a rollout, or the reason why that cannot be read.
type RolloutStatus struct {
	// Status is within the bounds of rollout.Decode. It is shared and must not be changed.
	Status *rollout.Status
	// Error is the text of the error if Status is nil.
	Error string
}

// Configuration is what is known of a RotationConfiguration.
type Configuration struct {
	metav1.ObjectMeta
	// Loaded is complete: presets are expanded, defaults filled in. It is shared and must not be changed. It is nil if the
	// configuration was refused.
	Loaded *configv1alpha1.RotationConfigurationSpec
	// Selectors are those by which the pods are read that are members, each once, ordered.
	Selectors []string
	// Error is the text of the error if Loaded is nil.
	Error string
	// Status is what was last written of it. It is shared and must not be changed.
	Status configv1alpha1.RotationConfigurationStatus
}

// Record is one RotationRecord.
type Record struct {
	metav1.ObjectMeta
	// Domain and Kind are as they are written, whether the record can be read or not.
	Domain string
	Kind   configv1alpha1.RecordKind
	// Said is what the record says, nil if it was refused. It is shared and must not be changed.
	Said *record.Record
	// Error is the text of the error if Said is nil.
	Error string
}

// Bundle is the content of a bundle ConfigMap.
type Bundle struct {
	// Anchors in order, each once. Empty if there are none or the PEM is broken.
	Anchors []*pki.Certificate
	// Fault says why the bundle cannot be read. An empty bundle has none.
	Fault *Fault
	// StoreDigests are those of the trust stores that the bundle says it has, by key.
	StoreDigests map[string]string
}

// Node is what is known of a Node.
type Node struct {
	// ObjectMeta has name, UID, resource version and all labels: any of them may be selected.
	metav1.ObjectMeta
	// Addresses are the InternalIPs in the order of the status, each once, as canonical text. Of a node of a configuration
	// they are those that are believed to be its own.
	Addresses []string
	// doubts are about the others; there are none in Sources.
	doubts []address.Doubt
}
