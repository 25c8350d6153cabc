// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// ParseSecret keeps what the model needs of a Secret of type kubernetes.io/tls. It checks the private keys and does
// not keep them. It does not change the Secret.
//
// If the Secret consents to no configuration, ParseSecret reads no key. It keeps only what the holder presents
// anyway, the chain of the leaf, because a CA of a trust domain may have signed it.
func ParseSecret(secret *corev1.Secret, certs *pki.Cache) *Secret {
	data := secret.Data
	out := &Secret{ObjectMeta: keptMeta(secret), Immutable: ptr.Deref(secret.Immutable, false), Edition: editionOf(secret)}
	if !consents(&out.ObjectMeta) {
		out.Active.Certificates = presented(data[ActiveCertKey], certs)
		return out
	}
	out.Active = ActiveSlot.check(data, certs)
	out.Next = NextSlot.check(data, certs)
	out.Previous = PreviousSlot.check(data, certs)
	out.Request, out.RequestFault = RequestIn(data)
	out.Authorities, out.AuthoritiesFault = parseAnchors(AuthorityKey, data[AuthorityKey], certs)
	parseKeystores(out, secret)
	for _, value := range data {
		out.DataBytes += len(value)
	}
	content := contenthash.ContentOfSecret(secret)
	out.ContentHash, out.Superseded = content.Hash, content.Superseded
	return out
}

// consents reports whether an object consents to any configuration. The builder checks to which one.
func consents(meta *metav1.ObjectMeta) bool {
	return meta.Annotations[trust.AnnotationConfiguration] != ""
}

// presented returns the chain of a Secret without consent, nil if it has none that can be read.
func presented(certPEM []byte, certs *pki.Cache) []*pki.Certificate {
	chain, err := certs.Chain(certPEM)
	if err != nil {
		return nil
	}
	return chain
}

// ParseOtherSecret records that a Secret of another type exists, and parses the content of an aggregate or an edition.
func ParseOtherSecret(secret *corev1.Secret, certs *pki.Cache) *OtherSecret {
	out := &OtherSecret{ObjectMeta: keptMeta(secret), Immutable: ptr.Deref(secret.Immutable, false)}
	if _, ok := secret.Labels[trust.LabelAggregate]; ok && consents(&out.ObjectMeta) {
		out.Aggregate = parseAggregate(secret.Data, certs)
	}
	parseEdition(out, secret, certs)
	if consents(&out.ObjectMeta) && out.Aggregate == nil && out.Edition == nil {
		out.Passwords = usablePasswords(secret.Data)
	}
	return out
}

func parseAggregate(data map[string][]byte, certs *pki.Cache) *AggregateSecret {
	out := &AggregateSecret{Keys: sortedNames(data), Pairs: map[string]pki.Fingerprint{}}
	for _, certKey := range out.Keys {
		leaf, ok := aggregatedLeaf(certKey)
		if !ok {
			continue
		}
		_, keyKey := AggregateKeys(leaf)
		pair := Slot{Cert: certKey, Key: keyKey}.check(data, certs)
		if pair.Fault == nil && !pair.Empty() {
			out.Pairs[leaf] = pair.Certificates[0].Fingerprint
		}
	}
	return out
}

// parseAnchors reads a bundle. An empty one is no fault.
func parseAnchors(key string, data []byte, certs *pki.Cache) (pki.Anchors, *Fault) {
	anchors, err := certs.Anchors(data)
	switch {
	case errors.Is(err, pki.ErrEmptyBundle):
		return pki.Anchors{}, nil
	case err != nil:
		return pki.Anchors{}, unparsable(key, err)
	}
	return anchors, nil
}
