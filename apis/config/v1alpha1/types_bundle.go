// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Bundle is the ConfigMap of trust anchors, under the key ca-bundle.crt.
// +kubebuilder:validation:XValidation:rule="!has(self.additionalKeys) || !has(self.additionalFormats) || self.additionalKeys.all(k, (!has(self.additionalFormats.jks) || self.additionalFormats.jks.key != k) && (!has(self.additionalFormats.pkcs12) || self.additionalFormats.pkcs12.key != k))",message="a key holds PEM or a trust store"
type Bundle struct {
	// configMapName of the bundle.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
	// additionalKeys of the ConfigMap hold the same PEM, for programs that read another key, such as ca.crt. All are
	// written together.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:items:XValidation:rule="self != 'ca-bundle.crt' && self != 'superseded-contents' && self != '.' && !self.startsWith('..')",message="must be a key other than ca-bundle.crt and superseded-contents, and not begin with two dots"
	AdditionalKeys []string `json:"additionalKeys,omitempty"`
	// additionalFormats are trust stores of the same anchors under further keys of the ConfigMap, for programs that
	// do not read PEM. They are written together with ca-bundle.crt.
	// +optional
	AdditionalFormats *AdditionalFormats `json:"additionalFormats,omitempty"`
	// newAnchors is where a CA that is added goes: Last (the default), behind the others, or First. It matters only to
	// programs that read the first certificate of a file alone. No order saves these from a gap: by Last they refuse
	// leaves of the new CA until the old one has left, by First leaves of the old CA from the start. First is for those
	// that load the bundle after their servers present leaves of the new CA.
	//
	// All keys of the ConfigMap, ca.crt beside leaves, copies and caBundles have the order of the bundle. An edit counts
	// from the next CA on: it reorders nothing that is there.
	// +optional
	NewAnchors AnchorPlace `json:"newAnchors,omitempty"`
	// injectInto are cluster-scoped objects whose caBundle or trustBundle receives these anchors. Each must exist,
	// and consent with the annotation certrotation.dev/inject-ca-from: NAMESPACE/CONFIGMAP.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	InjectInto []InjectionTarget `json:"injectInto,omitempty"`
}

// AnchorPlace is where an anchor goes among others.
// +kubebuilder:validation:Enum=First;Last
type AnchorPlace string

// Places of an anchor.
const (
	AnchorsFirst AnchorPlace = "First"
	AnchorsLast  AnchorPlace = "Last"
)

// AdditionalFormats are trust stores of a bundle, or of the anchors of a leaf, besides PEM. Each needs its own key.
// +kubebuilder:validation:XValidation:rule="!has(self.pkcs12) || !has(self.jks) || self.pkcs12.key != self.jks.key",message="pkcs12 and jks need keys that differ"
type AdditionalFormats struct {
	// pkcs12 is a PKCS#12 trust store for Java 12 and later, and for Java 8 and 11 with their updates since 2021.
	// +optional
	PKCS12 *TrustStore `json:"pkcs12,omitempty"`
	// jks is a trust store in the format that Java read before PKCS#12.
	// +optional
	JKS *TrustStore `json:"jks,omitempty"`
}

// TrustStore is a file with trust anchors and a password.
type TrustStore struct {
	// key of the ConfigMap, or of the Secret of a leaf, under which the trust store is written.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:XValidation:rule="self != 'ca-bundle.crt' && self != 'superseded-contents' && self != '.' && !self.startsWith('..')",message="must be a key other than ca-bundle.crt and superseded-contents, and not begin with two dots"
	Key string `json:"key"`
	// password of the trust store. Readers ask for one, but it protects nothing: anchors are public. Defaults to
	// "changeit", as in Java.
	// +optional
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Password string `json:"password,omitempty"`
}

// InjectionTarget is one cluster-scoped object that holds anchors.
type InjectionTarget struct {
	// kind of the object.
	Kind InjectionKind `json:"kind"`
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// InjectionKind is a kind whose objects hold anchors.
// +kubebuilder:validation:Enum=ValidatingWebhookConfiguration;MutatingWebhookConfiguration;APIService;CustomResourceDefinition;ClusterTrustBundle
type InjectionKind string

// Kinds that hold anchors, in a caBundle or a trustBundle. A CustomResourceDefinition has a caBundle for its
// conversion webhook.
const (
	InjectValidatingWebhook InjectionKind = "ValidatingWebhookConfiguration"
	InjectMutatingWebhook   InjectionKind = "MutatingWebhookConfiguration"
	InjectAPIService        InjectionKind = "APIService"
	InjectCustomResource    InjectionKind = "CustomResourceDefinition"
	// InjectTrustBundle is for pods that project it. kube-apiserver verifies no server with it.
	InjectTrustBundle InjectionKind = "ClusterTrustBundle"
)

// VerifiedByAPIServer reports whether kube-apiserver verifies servers with the anchors of this kind. Every
// kube-apiserver serves such a kind, so its objects show what kube-apiserver trusts. The content of a
// ClusterTrustBundle proves nothing about the pods that read it.
func (k InjectionKind) VerifiedByAPIServer() bool {
	switch k {
	case InjectValidatingWebhook, InjectMutatingWebhook, InjectAPIService, InjectCustomResource:
		return true
	case InjectTrustBundle:
	}
	return false
}
