// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
	"certrotation.dev/registry/view/inventory"
)

// writeKeystores writes the keystores and the trust stores of a leaf anew, and which content they replace.
func (c domainContent) writeKeystores(ctx context.Context, secret *corev1.Secret, action *trust.Action) error {
	leaf := c.domain.Leaf(action.Object)
	if leaf == nil {
		return apply.ErrStale
	}
	passwords, err := c.passwords(ctx, action.Keystores)
	if err != nil {
		return err
	}
	former := secret.DeepCopy()
	if err := fillLeafStores(secret, leaf, action); err != nil {
		return err
	}
	if err := fillKeystores(secret, leaf, action, passwords); err != nil {
		return err
	}
	supersede(secret, former, leaf)
	return nil
}

// passwords reads the passwords of keystores, by the key of the keystore. It fails with apply.ErrStale if a Secret is
// not the one that the decision was about.
func (c domainContent) passwords(ctx context.Context, keystores []trust.Keystore) (map[string]string, error) {
	out := map[string]string{}
	for i := range keystores {
		k := &keystores[i]
		secret, err := c.client.CoreV1().Secrets(c.domain.Namespace).Get(ctx, k.PasswordSecret, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the password of keystore %s in Secret %s: %w", k.Key, k.PasswordSecret, apply.Stale(err))
		}
		password := secret.Data[k.PasswordKey]
		if !trust.Consents(secret.Annotations, c.domain.Configuration) || !truststore.UsablePassword(password) ||
			inventory.PasswordVersion(secret) != k.PasswordVersion {
			return nil, fmt.Errorf("read the password of keystore %s in Secret %s: %w", k.Key, k.PasswordSecret, apply.ErrStale)
		}
		out[k.Key] = string(password)
	}
	return out, nil
}

// fillKeystores writes the keystores of a leaf, and removes former ones that are no longer wanted.
func fillKeystores(secret *corev1.Secret, leaf *trust.Leaf, action *trust.Action, passwords map[string]string) error {
	for key := range trust.ParseKeystores(leaf.Annotations[trust.AnnotationKeystores]) {
		remove(secret, key, action)
	}
	delete(secret.Annotations, trust.AnnotationKeystores)
	if len(action.Keystores) == 0 {
		return nil
	}
	pair, err := inventory.ActivePair(secret.Data)
	if err != nil {
		return fmt.Errorf("read the pair of leaf %s: %w", secret.Name, err)
	}
	seals := map[string]string{}
	for _, k := range action.Keystores {
		encoded, err := truststore.EncodePair(k.Format, passwords[k.Key], pair)
		if err != nil {
			return fmt.Errorf("write the keystore %s: %w", k.Key, err)
		}
		secret.Data[k.Key], seals[k.Key] = encoded, inventory.SealOf(secret, encoded)
	}
	secret.Annotations = merged(secret.Annotations, map[string]string{
		trust.AnnotationKeystores: trust.FormatKeystores(action.Keystores, seals),
	})
	return nil
}

// fillLeafStores writes the trust stores of a leaf, and removes former ones that are no longer wanted. Those of an
// unnamed leaf stay.
func fillLeafStores(secret *corev1.Secret, leaf *trust.Leaf, action *trust.Action) error {
	if leaf.Unnamed {
		return nil
	}
	for _, key := range trust.ParseTrustStores(leaf.Annotations[trust.AnnotationTrustStores]) {
		remove(secret, key, action)
	}
	for _, store := range action.Stores {
		encoded, err := truststore.Encode(store.Format, store.Password, action.Anchors)
		if err != nil {
			return fmt.Errorf("write the trust store %s: %w", store.Key, err)
		}
		secret.Data[store.Key] = encoded
	}
	return nil
}

// remove removes a keystore or a trust store that an annotation names, which anyone may have written: never a key that
// has another purpose, nor one that is wanted.
func remove(secret *corev1.Secret, key string, action *trust.Action) {
	used := []string{inventory.ActiveCertKey, inventory.ActiveKeyKey, inventory.AuthorityKey, contenthash.SupersededKey}
	for _, k := range action.Keystores {
		used = append(used, k.Key)
	}
	for _, s := range action.Stores {
		used = append(used, s.Key)
	}
	if !slices.Contains(used, key) {
		delete(secret.Data, key)
	}
}

// supersede lists the former content of a leaf, unless that had a keystore of another writer under a key that is ours
// now: what its program has loaded is not known.
func supersede(secret, former *corev1.Secret, leaf *trust.Leaf) {
	recorded := trust.ParseKeystores(leaf.Annotations[trust.AnnotationKeystores])
	for _, k := range leaf.Keystores {
		if store, ok := former.Data[k.Key]; ok && inventory.SealOf(former, store) != recorded[k.Key].Seal {
			delete(secret.Data, contenthash.SupersededKey)
			return
		}
	}
	maintained := trust.ParseTrustStores(leaf.Annotations[trust.AnnotationTrustStores])
	for _, s := range leaf.Stores {
		if _, ok := former.Data[s.Key]; ok && !slices.Contains(maintained, s.Key) {
			delete(secret.Data, contenthash.SupersededKey)
			return
		}
	}
	contenthash.SupersedeSecret(secret, former)
}
