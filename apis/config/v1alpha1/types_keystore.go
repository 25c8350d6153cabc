// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Keystores are files with the pair of a leaf besides PEM. Each needs its own key.
// +kubebuilder:validation:XValidation:rule="!has(self.pkcs12) || !has(self.jks) || self.pkcs12.key != self.jks.key",message="pkcs12 and jks need keys that differ"
type Keystores struct {
	// pkcs12 is a PKCS#12 keystore for Java 12 and later, and for Java 8 and 11 with their updates since 2021.
	// +optional
	PKCS12 *Keystore `json:"pkcs12,omitempty"`
	// jks is a keystore in the format that Java read before PKCS#12.
	// +optional
	JKS *Keystore `json:"jks,omitempty"`
}

// Keystore is a file with a certificate, its chain and its private key, which a password protects.
type Keystore struct {
	// key of the Secret of the leaf under which the keystore is written.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['tls.crt', 'tls.key', 'ca.crt', 'superseded-contents', '.']) && !self.startsWith('..')",message="must be a key other than tls.crt, tls.key, ca.crt and superseded-contents, and not begin with two dots"
	Key string `json:"key"`
	// passwordSecretRef is where the password of the keystore, and of the private key in it, is read.
	PasswordSecretRef PasswordSecretRef `json:"passwordSecretRef"`
}

// PasswordSecretRef is a key of a Secret of the same namespace. The Secret consents with the annotation
// certrotation.dev/configuration, and is of any type but kubernetes.io/tls.
type PasswordSecretRef struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key of the Secret. Its value is 6 to 128 printable ASCII characters, without a line break.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}
