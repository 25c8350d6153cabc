// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/address"
	"certrotation.dev/registry/edition"
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
	// NoKey says that there is no key at all. That is no fault where an issuer keeps it.
	NoKey bool
}

// Empty reports whether there is neither a certificate nor a key.
func (p *Pair) Empty() bool { return len(p.Certificates) == 0 && p.Fault == nil }

// Secret is what is known of a Secret of type kubernetes.io/tls. Only the configuration tells whether it is a signer
// or a leaf, so both are parsed.
//
// ObjectMeta has only what keptMeta keeps.
type Secret struct {
	metav1.ObjectMeta
	// Active is the pair under tls.crt and tls.key: an active CA, or a leaf with its chain.
	Active Pair
	// Next and Previous are the other slots of a signer. Previous has one certificate for each previous CA.
	Next, Previous Pair
	// Request is for a CA whose key a signer holds already, nil if there is none. RequestFault is what is wrong with it.
	Request      *pki.AuthorityRequest
	RequestFault *Fault
	// Authorities are all certificates under ca.crt, CAs or not.
	Authorities pki.Anchors
	// AuthoritiesFault is what is wrong with ca.crt; an empty value is fine.
	AuthoritiesFault *Fault
	// Keystores are the keys with keystores that the Secret does not say to be maintained, ordered. A keystore is
	// maintained if its seal is that of the annotation, a trust store if the annotation names it.
	Keystores []string
	// Seals and StoreDigests are those of trust.Leaf.
	Seals, StoreDigests map[string]string
	// DataBytes is the size of all values.
	DataBytes int
	// ContentHash is the hash of registry/contenthash, "" if the Secret consents to no configuration. Superseded are
	// the hashes that the Secret declares as replaced.
	ContentHash string
	Superseded  []string
	// Immutable says that the API server refuses any change of the content.
	Immutable bool
	// Edition is set if a SecretsManager made the Secret.
	Edition *edition.Edition
}

// OtherSecret records that a Secret of another type exists.
type OtherSecret struct {
	metav1.ObjectMeta
	// Aggregate is the content of a Secret with the label trust.LabelAggregate, nil for any other.
	Aggregate *AggregateSecret
	// Edition is set if a SecretsManager made the Secret, and a configuration demands its editions. Authority or Bundle is
	// its content, if it consents and is one of these.
	Edition   *edition.Edition
	Authority Pair
	Bundle    *Bundle
	// Passwords are the keys of a Secret that consents whose values keystores can have as their password, ordered. The
	// values are not kept.
	Passwords []string
	// Immutable is known only for an aggregate or an edition.
	Immutable bool
}

// AggregateSecret is the content of an aggregate Secret.
type AggregateSecret struct {
	// Keys of the Secret, ordered.
	Keys []string
	// Pairs maps a leaf to the fingerprint of its certificate. It leaves out a pair that is broken, or whose key does
	// not belong to its certificate.
	Pairs map[string]pki.Fingerprint
}

// ConfigMap is what is known of a ConfigMap. Apart from the metadata each part is nil unless the ConfigMap is of that
// kind.
type ConfigMap struct {
	metav1.ObjectMeta
	// Bundle of a ConfigMap that consents and has the key BundleKey.
	Bundle *Bundle
	// Beside are the anchors of a ConfigMap that consents, by the keys other than BundleKey that hold PEM.
	Beside map[string]pki.Anchors
	// Aggregate of a ConfigMap that consents and has the label trust.LabelAggregate: the anchors by key, an empty
	// list where the value is not readable.
	Aggregate map[string][]pki.Fingerprint
	// Rollout of a ConfigMap with the label rollout.LabelStatus.
	Rollout *RolloutStatus
	// Immutable says that the API server refuses any change of the content.
	Immutable bool
	// ContentHash of a bundle is the hash of registry/contenthash. Superseded are the hashes that the bundle declares
	// as replaced.
	ContentHash string
	Superseded  []string
}

// RolloutStatus is the status that the controller wrote for a rollout, or why it cannot be read.
type RolloutStatus struct {
	// Status is within the bounds of rollout.Decode. It is shared and read-only.
	Status *rollout.Status
	// Error is the text of the error if Status is nil.
	Error string
}

// Configuration is what is known of a RotationConfiguration.
type Configuration struct {
	metav1.ObjectMeta
	// Loaded is complete: presets are expanded, defaults filled in. It is nil if the configuration is invalid. It is
	// shared and read-only.
	Loaded *configv1alpha1.RotationConfigurationSpec
	// Selectors are the canonical texts of the selectors of member pods, each once, ordered. Identities are those of
	// the SecretsManagers that write trust domains, Passwords the names of the Secrets with passwords of keystores.
	Selectors, Identities, Passwords []string
	// Error is the text of the error if Loaded is nil.
	Error string
	// Status is the last written one. It is shared and read-only.
	Status configv1alpha1.RotationConfigurationStatus
}

// Record is one RotationRecord.
type Record struct {
	metav1.ObjectMeta
	// Domain and Kind are as written, even if the record cannot be read.
	Domain string
	Kind   configv1alpha1.RecordKind
	// Said is the content of the record, nil if it was refused. It is shared and read-only.
	Said *record.Record
	// Error is the text of the error if Said is nil.
	Error string
}

// Bundle is the content of a bundle ConfigMap, or of a bundle that is an edition.
type Bundle struct {
	// Anchors is without any if there are none or the PEM is broken.
	Anchors pki.Anchors
	// Fault is why the bundle cannot be read. An empty bundle has none.
	Fault *Fault
	// Keystore is a key with a keystore that the bundle does not declare, "" if there is none.
	Keystore string
	// StoreDigests are the digests, by key, of the trust stores that the bundle declares.
	StoreDigests map[string]string
}

// Node is what is known of a Node.
type Node struct {
	// ObjectMeta has name, UID, resource version and all labels, because any label may be selected.
	metav1.ObjectMeta
	// Addresses are the InternalIPs in the order of the status, each once, as canonical text. For a configuration,
	// filterAddresses leaves only those that are accepted as its own.
	Addresses []string
	// doubts are about the addresses that filterAddresses removed; none in Sources.
	doubts []address.Doubt
}
