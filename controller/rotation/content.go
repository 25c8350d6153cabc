// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
	"certrotation.dev/registry/view/inventory"
)

// errEmptyBundle backs up NeverEmpty: no decision can make the controller write an empty bundle.
var errEmptyBundle = errors.New("refusing to write a bundle without anchors")

// domainContent produces the content of the objects of a trust domain. An action on metadata alone leaves it
// unchanged.
type domainContent struct {
	*Controller

	domain *trust.Domain
}

func (c domainContent) fillSecret(ctx context.Context, secret *corev1.Secret, action *trust.Action) error {
	if action.Kind == trust.RecordMetadata {
		return nil
	}
	secret.Type = cmp.Or(secret.Type, corev1.SecretTypeTLS)
	keepActiveKeys(secret)
	switch action.Kind {
	case trust.IssueLeaf:
		return c.issueLeaf(ctx, secret, action)
	case trust.UpdateLeafAnchors:
		return c.updateLeafAnchors(secret, action)
	case trust.WriteKeystores:
		return c.writeKeystores(ctx, secret, action)
	case trust.GenerateActive:
		return c.generateActive(ctx, secret, action)
	case trust.GenerateNext:
		return c.generateNext(ctx, secret, action)
	case trust.RequestAuthority:
		return c.requestAuthority(secret, c.domain, action)
	case trust.InstallNext:
		return installNext(secret, action.Request.Certificates)
	case trust.DropRequest:
		inventory.DropRequest(secret.Data)
		return nil
	case trust.Promote:
		return c.promote(secret, action.Authority)
	case trust.DropNext:
		return c.moveToPrevious(secret, inventory.NextSlot)
	case trust.DestroyPrevious:
		return c.destroyPrevious(secret)
	default:
		return fmt.Errorf("action %q is none of a Secret", action.Kind)
	}
}

// fillConfigMap writes the anchors of a bundle in the order of the action, the trust stores of the same anchors, and
// which content they replace.
func (c domainContent) fillConfigMap(_ context.Context, configMap *corev1.ConfigMap, action *trust.Action) error {
	switch action.Kind {
	case trust.RecordMetadata:
		return nil
	case trust.PublishAnchors, trust.RetireAnchors, trust.WriteTrustStores:
	default:
		return fmt.Errorf("action %q is none of a bundle", action.Kind)
	}
	if len(action.Anchors) == 0 {
		return errEmptyBundle
	}
	former := configMap.DeepCopy()
	if action.Kind != trust.WriteTrustStores {
		text := pki.EncodeAnchors([]byte(former.Data[inventory.BundleKey]), action.Anchors...)
		configMap.Data = merged(configMap.Data, map[string]string{inventory.BundleKey: string(text)})
	}
	if err := fillStores(configMap, action, c.domain.Bundle.Annotations[trust.AnnotationTrustStores]); err != nil {
		return err
	}
	contenthash.SupersedeConfigMap(configMap, former)
	return nil
}

// fillStores writes the trust stores of a bundle, and removes former ones that are no longer wanted.
func fillStores(configMap *corev1.ConfigMap, action *trust.Action, had string) error {
	for _, key := range trust.ParseTrustStores(had) {
		if key != inventory.BundleKey && key != contenthash.SupersededKey {
			delete(configMap.BinaryData, key)
			delete(configMap.Data, key)
		}
	}
	for _, store := range action.Stores {
		if store.Format == truststore.PEM {
			delete(configMap.BinaryData, store.Key)
			text := pki.EncodeAnchors([]byte(configMap.Data[inventory.BundleKey]), action.Anchors...)
			configMap.Data = merged(configMap.Data, map[string]string{store.Key: string(text)})
			continue
		}
		encoded, err := truststore.Encode(store.Format, store.Password, action.Anchors)
		if err != nil {
			return fmt.Errorf("write the trust store %s: %w", store.Key, err)
		}
		// A key must not be in both data and binaryData.
		delete(configMap.Data, store.Key)
		if configMap.BinaryData == nil {
			configMap.BinaryData = map[string][]byte{}
		}
		configMap.BinaryData[store.Key] = encoded
	}
	return nil
}

// updateLeafAnchors writes the anchors beside a leaf, in the order of the action, their trust stores, and which content
// they replace.
func (c domainContent) updateLeafAnchors(secret *corev1.Secret, action *trust.Action) error {
	leaf := c.domain.Leaf(action.Object)
	if leaf == nil {
		return apply.ErrStale
	}
	if len(action.Anchors) == 0 {
		return errEmptyBundle
	}
	former := secret.DeepCopy()
	secret.Data[inventory.AuthorityKey] = pki.EncodeAnchors(secret.Data[inventory.AuthorityKey], action.Anchors...)
	if err := fillLeafStores(secret, leaf, action); err != nil {
		return err
	}
	supersede(secret, former, leaf)
	return nil
}

// issueLeaf signs or takes a new pair for a leaf and stores it with its signer, the anchors of the action and its
// keystores. It lists no replaced content for pods that wait at a start gate: with the former content they would present
// another leaf.
func (c domainContent) issueLeaf(ctx context.Context, secret *corev1.Secret, action *trust.Action) error {
	leaf := c.domain.Leaf(action.Object)
	if leaf == nil {
		return apply.ErrStale
	}
	if len(action.Anchors) == 0 {
		return errEmptyBundle
	}
	passwords, err := c.passwords(ctx, action.Keystores)
	if err != nil {
		return err
	}
	made, err := c.issued(ctx, action)
	if err != nil {
		return err
	}
	key, err := made.KeyPEM()
	if err != nil {
		return fmt.Errorf("encode the key of the leaf: %w", err)
	}
	secret.Data[inventory.ActiveCertKey] = made.CertPEM()
	secret.Data[inventory.ActiveKeyKey] = key
	secret.Data[inventory.AuthorityKey] = pki.EncodeAnchors(secret.Data[inventory.AuthorityKey], action.Anchors...)
	delete(secret.Data, contenthash.SupersededKey)
	if err := fillLeafStores(secret, leaf, action); err != nil {
		return err
	}
	if err := fillKeystores(secret, leaf, action, passwords); err != nil {
		return err
	}
	applyMetadata(&secret.ObjectMeta, action, trust.MetadataOfLeaf(c.domain.Name, made.Certificate, leaf.Policy, c.domain.Recorded(c.clock.Now())))
	return nil
}

// issued returns the pair of a leaf: signed now, or taken from the issuer.
func (c domainContent) issued(ctx context.Context, action *trust.Action) (*pki.Pair, error) {
	if action.From != nil {
		return c.taken(ctx, action.From)
	}
	return c.sign(ctx, action)
}

// sign reads the signer's key, uses it once and drops it.
func (c domainContent) sign(ctx context.Context, action *trust.Action) (*pki.Pair, error) {
	d := c.domain
	secret, err := c.client.CoreV1().Secrets(d.Namespace).Get(ctx, d.Signer.Name, metav1.GetOptions{})
	if err != nil {
		return nil, apply.Stale(err)
	}
	if secret.ResourceVersion != d.Signer.ResourceVersion {
		return nil, apply.ErrStale
	}
	ca, err := inventory.SignerPair(secret.Data, action.Authority)
	if err != nil {
		return nil, fmt.Errorf("read signer %s/%s: %w", d.Namespace, d.Signer.Name, err)
	}
	return ca.Issue(action.Profile, c.clock.Now())
}

// applyMetadata applies the annotations and labels of the action, and those that describe a certificate that was just
// made. All others stay.
func applyMetadata(meta *metav1.ObjectMeta, action *trust.Action, made trust.Metadata) {
	for _, name := range action.RemoveAnnotations {
		delete(meta.Annotations, name)
	}
	meta.Annotations = merged(meta.Annotations, action.Annotations, made.Annotations)
	meta.Labels = merged(meta.Labels, action.Labels, made.Labels)
}

func merged(into map[string]string, from ...map[string]string) map[string]string {
	for _, m := range from {
		if into == nil && len(m) > 0 {
			into = make(map[string]string, len(m))
		}
		maps.Copy(into, m)
	}
	return into
}
