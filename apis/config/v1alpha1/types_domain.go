// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrustDomain is one CA lineage: a signer, its bundle, the leaves that it signs and the parties that verify them. Each
// leaf needs a party that verifies it and one that presents it.
// +kubebuilder:validation:XValidation:rule="has(self.relyingParties) && size(self.relyingParties) > 0",message="a trust domain needs a relying party: without one nothing could be proven"
// +kubebuilder:validation:XValidation:rule="!has(self.editions) || self.bundle.configMapName == self.signer.secretName + '-bundle'",message="with editions the bundle is called as the signer, with -bundle"
// +kubebuilder:validation:XValidation:rule="!has(self.editions) || !has(self.bundle.additionalFormats) && !has(self.bundle.newAnchors) && (!has(self.bundle.injectInto) || size(self.bundle.injectInto) == 0)",message="certrotation does not write the bundle of editions: give neither additionalFormats, newAnchors nor injectInto"
// +kubebuilder:validation:XValidation:rule="!has(self.editions) || !has(self.leaves) || self.leaves.all(leaf, !has(leaf.keystores) && !has(leaf.additionalFormats))",message="certrotation does not write the leaves of editions: give neither keystores nor additionalFormats"
// +kubebuilder:validation:XValidation:rule="!has(self.editions) || !has(self.unlistedLeaves)",message="unlistedLeaves not with editions: nobody records when their authority changed"
// +kubebuilder:validation:XValidation:rule="!has(self.editions) || !has(self.leaves) || self.leaves.all(leaf, !has(leaf.forEachNode))",message="forEachNode not with editions: give each leaf its name"
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || !has(self.editions) && !has(self.unlistedLeaves)",message="issuer not with editions and not with unlistedLeaves"
// +kubebuilder:validation:XValidation:rule="!has(self.leaves) || self.leaves.all(leaf, has(leaf.issuedSecretName) == has(self.issuer))",message="with issuer each leaf has an issuedSecretName, and without it none"
// +kubebuilder:validation:XValidation:rule="!has(self.signer.issuedSecretName) || has(self.issuer)",message="signer.issuedSecretName only with issuer"
type TrustDomain struct {
	// name is unique within the namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// editions says that another controller writes the objects of this trust domain, as editions.
	// +optional
	Editions *Editions `json:"editions,omitempty"`
	// issuer is another controller that issues the leaves. Each leaf then has an issuedSecretName, where the issuer
	// delivers. certrotation takes the pair from there once all its verifiers have loaded its CA, and asks the issuer for
	// another one when the CA is rotated. Programs load the Secrets that certrotation writes.
	//
	// certrotation makes the CA, and the issuer signs with signer.secretName (for cert-manager: spec.ca.secretName of the
	// Issuer). With signer.issuedSecretName the CA is the issuer's, too. Policies of what the issuer makes have no effect.
	// +optional
	Issuer Issuer `json:"issuer,omitempty"`
	// signer is the CA key pair.
	Signer Signer `json:"signer"`
	// bundle is the ConfigMap of trust anchors.
	Bundle Bundle `json:"bundle"`
	// leaves are the end-entity certificates.
	// +optional
	// +listType=map
	// +listMapKey=secretName
	// +kubebuilder:validation:MaxItems=2000
	Leaves []Leaf `json:"leaves,omitempty"`
	// relyingParties are the processes that verify or present the leaves.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	RelyingParties []RelyingParty `json:"relyingParties,omitempty"`
	// releasedLeaves are the names of leaf Secrets that exist but no longer count. A leaf that is removed from the
	// configuration counts as live until its Secret is deleted or released here.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=253
	ReleasedLeaves []string `json:"releasedLeaves,omitempty"`
	// releasedMembers are members on existing nodes that no longer count, as PARTY/MEMBER. A member that its relying
	// party no longer selects counts until its node is gone. It can be released here while no rotation is in flight.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=507
	ReleasedMembers []string `json:"releasedMembers,omitempty"`
	// verifiers are the TLS libraries that verify the certificates of this trust domain. Each must accept a certificate
	// before it is used, so that the strictest decides. Defaults to all that are known.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	Verifiers []Verifier `json:"verifiers,omitempty"`
	// reissuePerMinute bounds how many leaves are reissued per minute because their signer or their policy changed.
	// Leaves that are missing, expired or explicitly requested are not held back. Defaults to 600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	ReissuePerMinute int32 `json:"reissuePerMinute,omitempty"`
	// unlistedLeaves declares that programs also issue leaves from the active CA in memory, without a Secret.
	// +optional
	UnlistedLeaves *UnlistedLeaves `json:"unlistedLeaves,omitempty"`
	// stageDeadline is how long a stage of a rotation may last before it is overdue. Only the condition Degraded
	// depends on it. Defaults to 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="must be a duration between 1m and 8760h"
	StageDeadline *metav1.Duration `json:"stageDeadline,omitempty"`
}

// Issuer is a controller that issues certificates.
// +kubebuilder:validation:Enum=CertManager
type Issuer string

// The issuers.
const (
	// IssuerCertManager is cert-manager. Its Secrets name their Certificate by an annotation.
	IssuerCertManager Issuer = "CertManager"
)

// Verifier is a TLS library.
// +kubebuilder:validation:Enum=Go;OpenSSL;BoringSSL;GnuTLS;NSS;Java
type Verifier string

// The verifiers.
const (
	VerifierGo        Verifier = "Go"
	VerifierOpenSSL   Verifier = "OpenSSL"
	VerifierBoringSSL Verifier = "BoringSSL"
	VerifierGnuTLS    Verifier = "GnuTLS"
	VerifierNSS       Verifier = "NSS"
	VerifierJava      Verifier = "Java"
)

// Editions are immutable Secrets that a controller makes with Gardener's SecretsManager, or with the library of
// certrotation (docs/secrets.md). certrotation writes none of them. It shows their state, records who has loaded what,
// and refuses an edition that a verifier would not accept yet, or that would end an anchor in use.
//
// signer.secretName and secretName of a leaf are then names of configurations, not of Secrets: the newest Secret with
// that label name counts. bundle.configMapName is that of the signer with -bundle. Policies have no effect. Each edition
// must consent (certrotation.dev/configuration).
type Editions struct {
	// identity is the value of their label manager-identity.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Identity string `json:"identity"`
}

// UnlistedLeaves are leaves that no Secret holds, such as the leaves of certrotation's own servers.
type UnlistedLeaves struct {
	// drain is how long a program may still present a leaf of the former CA after a new one became active. It is an
	// assumption of the operator, not an observation.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	Drain metav1.Duration `json:"drain"`
}

// KeyAlgorithm names a key type and size.
// +kubebuilder:validation:Enum=RSA-2048;RSA-3072;RSA-4096;ECDSA-P256;ECDSA-P384;ECDSA-P521;Ed25519
type KeyAlgorithm string

// Key algorithms that can be issued.
const (
	RSA2048   KeyAlgorithm = "RSA-2048"
	RSA3072   KeyAlgorithm = "RSA-3072"
	RSA4096   KeyAlgorithm = "RSA-4096"
	ECDSAP256 KeyAlgorithm = "ECDSA-P256"
	ECDSAP384 KeyAlgorithm = "ECDSA-P384"
	ECDSAP521 KeyAlgorithm = "ECDSA-P521"
	Ed25519   KeyAlgorithm = "Ed25519"
)

// IssuancePolicy defines how certificates are issued and when they are renewed.
type IssuancePolicy struct {
	// key is the key algorithm. Defaults to ECDSA-P256.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
	// validity of a new certificate. Defaults to 43800h (5 years) for signers. For leaves it defaults to 8760h (1
	// year), or to the validity of the signer if that is shorter. A leaf does not outlive its signer: when it is
	// issued, its validity is clamped to the remaining life of the signer.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be a duration between 1m and 876000h"
	Validity *metav1.Duration `json:"validity,omitempty"`
	// renewAtPercent is the percentage of its validity after which a certificate is renewed. Between 1 and 99, defaults
	// to 80.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	RenewAtPercent int32 `json:"renewAtPercent,omitempty"`
	// renewBefore is how long before its expiry a certificate is renewed, if that is earlier than renewAtPercent. It
	// must be shorter than validity.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('876000h')",message="must be a duration between 1s and 876000h"
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// jitterPercent spreads renewals: each certificate is renewed earlier, by up to this percentage of its validity.
	// The offset is fixed for each certificate. Between 0 and 20 and less than renewAtPercent. Defaults to 5 for
	// leaves and 0 for signers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	JitterPercent *int32 `json:"jitterPercent,omitempty"`
	// backdate is how far the start of a new certificate lies in the past, for verifiers whose clocks are behind. A leaf
	// of another issuer is taken that long after its start. Defaults to 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="must be a duration between 0s and 24h"
	Backdate *metav1.Duration `json:"backdate,omitempty"`
}

// Signer is the CA key pair of a trust domain.
type Signer struct {
	// secretName of the kubernetes.io/tls Secret with the slots active, next and previous.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// issuedSecretName is the Secret in which the issuer keeps the CA. It may replace the CA in one write. secretName then
	// has certificates without keys.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	IssuedSecretName string `json:"issuedSecretName,omitempty"`
	// policy for the CA certificates.
	// +optional
	Policy IssuancePolicy `json:"policy,omitempty"`
}

// Usage is an extended key usage of a leaf.
// +kubebuilder:validation:Enum=ServerAuth;ClientAuth;CodeSigning;EmailProtection;TimeStamping;OCSPSigning
type Usage string

// Usages of leaves.
const (
	ServerAuth      Usage = "ServerAuth"
	ClientAuth      Usage = "ClientAuth"
	CodeSigning     Usage = "CodeSigning"
	EmailProtection Usage = "EmailProtection"
	TimeStamping    Usage = "TimeStamping"
	OCSPSigning     Usage = "OCSPSigning"
)

// Leaf is an end-entity certificate, or one end-entity certificate for each node.
// +kubebuilder:validation:XValidation:rule="has(self.forEachNode) == self.secretName.contains('{node}')",message="secretName contains {node} if, and only if, there is one for each node"
// +kubebuilder:validation:XValidation:rule="has(self.commonName) && size(self.commonName) > 0 || has(self.dnsNames) && size(self.dnsNames) > 0 || has(self.ipAddresses) && size(self.ipAddresses) > 0 || has(self.nodeAddresses) && self.nodeAddresses || has(self.uris) && size(self.uris) > 0",message="a leaf needs a commonName, a name, an address or a URI"
// +kubebuilder:validation:XValidation:rule="!has(self.issuedSecretName) || !has(self.forEachNode)",message="issuedSecretName not with forEachNode: give each leaf its name"
// +kubebuilder:validation:XValidation:rule="!has(self.nodeAddresses) || !self.nodeAddresses || has(self.forEachNode)",message="nodeAddresses only with forEachNode"
// +kubebuilder:validation:XValidation:rule="!has(self.additionalFormats) || (!has(self.additionalFormats.pkcs12) || !(self.additionalFormats.pkcs12.key in ['tls.crt', 'tls.key', 'ca.crt'])) && (!has(self.additionalFormats.jks) || !(self.additionalFormats.jks.key in ['tls.crt', 'tls.key', 'ca.crt']))",message="a trust store has a key other than tls.crt, tls.key and ca.crt"
type Leaf struct {
	// secretName of the kubernetes.io/tls Secret. With forEachNode it contains {node} exactly once.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// issuedSecretName is the Secret in which the issuer delivers the pair. Programs load secretName instead: only that
	// has the anchors of the trust domain under ca.crt, and waits for those who verify the leaf.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	IssuedSecretName string `json:"issuedSecretName,omitempty"`
	// forEachNode makes one leaf for each selected node.
	// +optional
	ForEachNode *metav1.LabelSelector `json:"forEachNode,omitempty"`
	// commonName of the subject. Defaults to the smallest of the names and addresses that fit.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CommonName string `json:"commonName,omitempty"`
	// organizations of the subject.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Organizations []string `json:"organizations,omitempty"`
	// dnsNames of the leaf.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`
	// ipAddresses of the leaf.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=45
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// nodeAddresses adds every InternalIP of the node. Only with forEachNode.
	// +optional
	NodeAddresses bool `json:"nodeAddresses,omitempty"`
	// uris of the leaf, such as a SPIFFE ID. Each is absolute.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9+.-]*:[!-~]+$`
	URIs []string `json:"uris,omitempty"`
	// emailAddresses of the leaf.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[!-?A-~]+@[!-?A-~]+$`
	EmailAddresses []string `json:"emailAddresses,omitempty"`
	// subjectFields are further attributes of the subject, as TYPE=VALUE: OU=platform. TYPE is C, ST, L, STREET,
	// POSTALCODE, OU, SERIALNUMBER, TITLE, SN, GN, DC, UID, or an object identifier.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=192
	// +kubebuilder:validation:items:Pattern=`^(C|ST|L|STREET|POSTALCODE|OU|SERIALNUMBER|TITLE|SN|GN|DC|UID|[0-2](\.[0-9]+)+)=[^\x00-\x1f\x7f]{1,128}$`
	SubjectFields []string `json:"subjectFields,omitempty"`
	// usages are the extended key usages. At least one.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	Usages []Usage `json:"usages"`
	// keystores hold the certificate and the private key of the leaf, under further keys of the Secret, for programs that
	// do not read PEM. They are written together with tls.crt. A copy of the leaf (copies) does not have them.
	// +optional
	Keystores *Keystores `json:"keystores,omitempty"`
	// additionalFormats are trust stores of the anchors under ca.crt, under further keys of the Secret. They are written
	// together with ca.crt. A copy of the leaf (copies) does not have them.
	// +optional
	AdditionalFormats *AdditionalFormats `json:"additionalFormats,omitempty"`
	// policy for this leaf.
	// +optional
	Policy IssuancePolicy `json:"policy,omitempty"`
}
