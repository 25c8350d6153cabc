// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
)

func present(meta *metav1.ObjectMeta) trust.Object {
	return trust.Object{
		Name:            meta.Name,
		Present:         true,
		UID:             string(meta.UID),
		ResourceVersion: meta.ResourceVersion,
		Created:         meta.CreationTimestamp.Time,
		Annotations:     meta.Annotations,
		Labels:          meta.Labels,
		Finalizers:      len(meta.Finalizers) > 0,
		Deleting:        meta.DeletionTimestamp != nil,
	}
}

func (s *Secret) object() trust.Object {
	out := present(&s.ObjectMeta)
	out.Immutable = s.Immutable
	return out
}

func (s *OtherSecret) object() trust.Object {
	out := present(&s.ObjectMeta)
	out.Immutable = s.Immutable
	return out
}

func (c *ConfigMap) object() trust.Object {
	out := present(&c.ObjectMeta)
	out.Immutable = c.Immutable
	return out
}

// adopted reports whether an object consents to the configuration that names it. If not, the model knows only that
// the object exists.
func (b *builder) adopted(p *part, kind trust.ObjectKind, object *trust.Object) bool {
	if trust.Consents(object.Annotations, p.configuration) {
		return true
	}
	*object = trust.NotAdopted(kind, object, b.sources.Namespace, p.configuration)
	return false
}

// tlsSecret returns a Secret and its facts. The facts are nil if it does not exist, does not consent, or has another
// type. Another type is a problem because the type cannot be changed.
func (b *builder) tlsSecret(p *part, name string) (trust.Object, *Secret) {
	if secret := b.sources.Secrets[name]; secret != nil {
		object := secret.object()
		if !b.adopted(p, trust.SecretKind, &object) {
			return object, nil
		}
		return object, secret
	}
	other := b.sources.Others[name]
	if other == nil {
		return trust.Object{Name: name}, nil
	}
	object := other.object()
	if !b.adopted(p, trust.SecretKind, &object) {
		return object, nil
	}
	object.Problem = problemOf(trust.SecretKind, name, trust.ReasonWrongType,
		"it is not of type kubernetes.io/tls, and a type cannot be changed; name another Secret in the configuration, "+
			"or save its data, delete it, and create it again with that type")
	return object, nil
}

func problemOf(kind trust.ObjectKind, name string, reason trust.Reason, message string) *trust.Problem {
	return &trust.Problem{Object: objectName(kind, name), Reason: reason, Message: message}
}

// signer reads the slots. Each slot keeps the certificates that could be read, even if something else is wrong. The
// first fault in the order of the slots is the problem. The model checks dates.
func (b *builder) signer(p *part, cfg *configv1alpha1.Signer) trust.Signer {
	object, secret := b.tlsSecret(p, cfg.SecretName)
	out := trust.Signer{Object: object, Policy: policyOf(&cfg.Policy), Issued: b.issued(p, cfg.IssuedSecretName)}
	if secret == nil {
		return out
	}
	out.Active = first(secret.Active.Certificates)
	out.Next = first(secret.Next.Certificates)
	out.Previous = secret.Previous.Certificates
	out.Issuers = issuersIn(secret)
	slots := []struct {
		slot trust.Slot
		pair *Pair
		cas  []*pki.Certificate
		step string
	}{
		{trust.SlotActive, &secret.Active, one(out.Active),
			"restore the Secret, or save its data and delete it to have a new CA rotated in"},
		{trust.SlotNext, &secret.Next, one(out.Next),
			"restore it, or remove " + NextCertKey + " and " + NextKeyKey + " to have it made anew"},
		{trust.SlotPrevious, &secret.Previous, out.Previous,
			"restore it, or remove " + PreviousCertKey + " and " + PreviousKeyKey + " once nothing is signed by it"},
	}
	for _, s := range slots {
		pair := *s.pair
		if pair.NoKey && cfg.IssuedSecretName != "" {
			pair.Fault = nil
		}
		if out.Problem = slotProblem(cfg.SecretName, s.slot, &pair, s.cas, s.step); out.Problem != nil {
			break
		}
	}
	out.Request = secret.Request
	if fault := secret.RequestFault; fault != nil && out.Problem == nil {
		out.Problem = problemOf(trust.SecretKind, cfg.SecretName, fault.Reason,
			fault.Text+"; restore it, or remove "+RequestCSRKey+" and "+RequestKeyKey+" to have them made anew")
	}
	return out
}

func slotProblem(name string, slot trust.Slot, pair *Pair, cas []*pki.Certificate, step string) *trust.Problem {
	if fault := pair.Fault; fault != nil {
		return problemOf(trust.SecretKind, name, fault.Reason, fmt.Sprintf("slot %s: %s; %s", slot, fault.Text, step))
	}
	for _, ca := range cas {
		if !ca.IsCA {
			return problemOf(trust.SecretKind, name, trust.ReasonNotCA,
				fmt.Sprintf("slot %s: the certificate with the subject %q is no CA; %s", slot, ca.Subject, step))
		}
	}
	return nil
}

// bundle reads the anchors. A bundle that is empty or has no key has no problem: the controller fills it.
//
// An anchor that is no CA is a problem, but it stays among the anchors: a verifier may pin it, and crypto/x509
// accepts it as such. A caller that writes the anchors back must not lose it.
func (b *builder) bundle(p *part, cfg *configv1alpha1.Bundle) trust.Bundle {
	cm := b.sources.ConfigMaps[cfg.ConfigMapName]
	out := trust.Bundle{Object: trust.Object{Name: cfg.ConfigMapName}, Stores: storesOf(cfg), NewFirst: cfg.NewAnchors == configv1alpha1.AnchorsFirst}
	for _, target := range cfg.InjectInto {
		out.InjectInto = append(out.InjectInto, trust.InjectionTarget{Kind: string(target.Kind), Name: target.Name})
	}
	if cm == nil {
		return out
	}
	out.Object = cm.object()
	if !b.adopted(p, trust.ConfigMapKind, &out.Object) {
		return out
	}
	out.Beside = cm.Beside
	if cm.Bundle == nil {
		return out
	}
	of := cm.Bundle.Anchors
	out.Anchors, out.Repeats, out.Unread, out.StoreDigests = of.Certificates, of.Repeats, of.Unread, cm.Bundle.StoreDigests
	out.ContentHash, out.Superseded, out.Keystore = cm.ContentHash, cm.Superseded, cm.Bundle.Keystore
	if fault := cm.Bundle.Fault; fault != nil {
		out.Problem = problemOf(trust.ConfigMapKind, cfg.ConfigMapName, fault.Reason,
			fault.Text+"; restore it, or delete the ConfigMap to have it rebuilt from what the leaves need")
		return out
	}
	for _, anchor := range out.Anchors {
		if !anchor.IsCA {
			out.Problem = problemOf(trust.ConfigMapKind, cfg.ConfigMapName, trust.ReasonNotCA, fmt.Sprintf(
				"the anchor with the subject %q is no CA, so nothing can be signed by it; remove it from %s", anchor.Subject, BundleKey))
			break
		}
	}
	return out
}

// storesOf returns the other keys that a bundle must have, ordered.
func storesOf(cfg *configv1alpha1.Bundle) []trust.TrustStore {
	var out []trust.TrustStore
	for _, key := range cfg.AdditionalKeys {
		out = append(out, trust.TrustStore{Key: key, Format: truststore.PEM})
	}
	out = append(out, formatsOf(cfg.AdditionalFormats)...)
	slices.SortFunc(out, func(x, y trust.TrustStore) int { return cmp.Compare(x.Key, y.Key) })
	return out
}

// formatsOf returns the trust stores of a bundle or a leaf, ordered.
func formatsOf(formats *configv1alpha1.AdditionalFormats) []trust.TrustStore {
	if formats == nil {
		return nil
	}
	var out []trust.TrustStore
	for format, store := range map[truststore.Format]*configv1alpha1.TrustStore{truststore.JKS: formats.JKS, truststore.PKCS12: formats.PKCS12} {
		if store != nil {
			out = append(out, trust.TrustStore{Key: store.Key, Format: format, Password: store.Password})
		}
	}
	slices.SortFunc(out, func(x, y trust.TrustStore) int { return cmp.Compare(x.Key, y.Key) })
	return out
}

func first(list []*pki.Certificate) *pki.Certificate {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func one(cert *pki.Certificate) []*pki.Certificate {
	if cert == nil {
		return nil
	}
	return []*pki.Certificate{cert}
}
