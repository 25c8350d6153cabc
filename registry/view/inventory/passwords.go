// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
)

// A password of a keystore is in a Secret of another type, which a configuration demands by its name. Only the writer of
// a keystore reads the password itself, and checks that the Secret has still the version that the model knows.

// maxPasswords bounds how many keys of a Secret are kept.
const maxPasswords = 64

// usablePasswords returns the keys whose values a keystore can have as its password, ordered.
func usablePasswords(data map[string][]byte) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if truststore.UsablePassword(data[key]) && len(out) < maxPasswords {
			out = append(out, key)
		}
	}
	return out
}

// passwordsOf returns the names of the Secrets with passwords, each once, ordered.
func passwordsOf(cfg *configv1alpha1.RotationConfigurationSpec) []string {
	var out []string
	for i := range cfg.TrustDomains {
		for j := range cfg.TrustDomains[i].Leaves {
			for _, store := range keystoresOf(cfg.TrustDomains[i].Leaves[j].Keystores) {
				out = append(out, store.PasswordSecretRef.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func keystoresOf(cfg *configv1alpha1.Keystores) map[truststore.Format]*configv1alpha1.Keystore {
	out := map[truststore.Format]*configv1alpha1.Keystore{}
	if cfg != nil {
		out[truststore.JKS], out[truststore.PKCS12] = cfg.JKS, cfg.PKCS12
	}
	maps.DeleteFunc(out, func(_ truststore.Format, store *configv1alpha1.Keystore) bool { return store == nil })
	return out
}

// keystores returns the keystores that a leaf must have, ordered.
func (b *builder) keystores(p *part, cfg *configv1alpha1.Keystores) []trust.Keystore {
	var out []trust.Keystore
	for format, store := range keystoresOf(cfg) {
		ref := store.PasswordSecretRef
		k := trust.Keystore{Key: store.Key, Format: format, PasswordSecret: ref.Name, PasswordKey: ref.Key}
		k.PasswordVersion, k.NoPassword = b.password(p, ref)
		out = append(out, k)
	}
	slices.SortFunc(out, func(x, y trust.Keystore) int { return cmp.Compare(x.Key, y.Key) })
	return out
}

// password returns the version of a Secret with a usable password, or why there is none.
func (b *builder) password(p *part, ref configv1alpha1.PasswordSecretRef) (version, none string) {
	object := objectName(trust.SecretKind, ref.Name)
	other := b.sources.Others[ref.Name]
	switch {
	case other == nil:
		return "", fmt.Sprintf("%s with its password does not exist, or is of type kubernetes.io/tls; create it, and annotate it with %s=%s",
			object, trust.AnnotationConfiguration, p.configuration)
	case !trust.Consents(other.Annotations, p.configuration):
		return "", fmt.Sprintf("%s with its password does not consent to RotationConfiguration/%s; annotate it with %s=%s",
			object, p.configuration, trust.AnnotationConfiguration, p.configuration)
	case !slices.Contains(other.Passwords, ref.Key):
		return "", fmt.Sprintf("%s has no password under the key %s; write one of 6 to 128 printable ASCII characters, without a line break",
			object, ref.Key)
	}
	return PasswordVersion(other), ""
}

// PasswordVersion tells one content of a Secret from another.
func PasswordVersion(secret metav1.Object) string {
	return string(secret.GetUID()) + "/" + secret.GetResourceVersion()
}

// undeclared returns the keystores of a Secret that a leaf is not configured to have.
func undeclared(keys []string, l *trust.Leaf) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return slices.ContainsFunc(l.Keystores, func(k trust.Keystore) bool { return k.Key == key }) ||
			slices.ContainsFunc(l.Stores, func(s trust.TrustStore) bool { return s.Key == key })
	})
}
