// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// authority makes a CA as a person with openssl does.
func (w *world) authority(commonName string) (*pki.Pair, error) {
	return pki.NewAuthority(pki.Profile{
		CommonName: commonName, Key: pki.Ed25519, Validity: signerValidity, Backdate: 5 * time.Minute,
	}, w.clock.now())
}

func fill(s *corev1.Secret, certKey, keyKey string, pair *pki.Pair) bool {
	key, err := pair.KeyPEM()
	if err != nil {
		return false
	}
	s.Data[certKey], s.Data[keyKey] = pair.CertPEM(), key
	return true
}

// bringsOwnNext starts a rotation with a CA that has the subject of the active one. It does so only if a probed
// member verifies every leaf: then that CA never signs, and the rotation can be aborted.
func (w *world) bringsOwnNext(d *trust.Domain) *edit {
	if w.topology.serverKind != configv1alpha1.EvidenceTLSProbe || !w.topology.peers || d.Signer.Active == nil {
		return nil
	}
	pair, err := w.authority(d.Signer.Active.CommonName)
	if err != nil {
		return nil
	}
	return &edit{
		what: "brings a next CA with the subject of the active one to " + d.Signer.Name, kind: trust.SecretKind, name: d.Signer.Name,
		secret: func(s *corev1.Secret) bool { return fill(s, inventory.NextCertKey, inventory.NextKeyKey, pair) },
	}
}

// replacesActive replaces the CA in one write, as cert-manager does.
func (w *world) replacesActive(d *trust.Domain) *edit {
	pair, err := w.authority(pki.GenerationName(namespace, d.Signer.Name, w.clock.now()))
	if err != nil {
		return nil
	}
	return &edit{
		what: "replaces the active CA of " + d.Signer.Name, kind: trust.SecretKind, name: d.Signer.Name,
		secret: func(s *corev1.Secret) bool {
			return fill(s, inventory.ActiveCertKey, inventory.ActiveKeyKey, pair)
		},
	}
}

func (w *world) putsForeignLeaf(d *trust.Domain) *edit {
	name := w.leafName(d)
	ca, err := w.authority("somebody's CA")
	if err != nil || name == "" {
		return nil
	}
	return w.putsLeaf(d, name, ca, "puts a leaf of a foreign CA into "+name)
}

// signsByHand issues a leaf with the next CA, trusted or not.
func (w *world) signsByHand(d *trust.Domain) *edit {
	name, secret := w.leafName(d), w.api.secrets[d.Signer.Name]
	if name == "" || secret == nil || d.Signer.Next == nil {
		return nil
	}
	ca, err := pki.ParsePair(secret.Data[inventory.NextCertKey], secret.Data[inventory.NextKeyKey])
	if err != nil {
		return nil
	}
	return w.putsLeaf(d, name, ca, "signs "+name+" by hand with the next CA")
}

func (w *world) putsLeaf(d *trust.Domain, name string, ca *pki.Pair, what string) *edit {
	pair, err := ca.Issue(leafOf(d, name).Policy.Profile, w.clock.now())
	if err != nil {
		return nil
	}
	return &edit{
		what: what, kind: trust.SecretKind, name: name,
		secret: func(s *corev1.Secret) bool {
			if w.topology.beside && len(s.Data[inventory.AuthorityKey]) == 0 {
				// A Secret for a program that verifies by ca.crt comes with that. Nothing adds it before the next leaf.
				if len(d.Bundle.Anchors) == 0 {
					return false
				}
				s.Data[inventory.AuthorityKey] = pki.EncodeCertificates(d.Bundle.Anchors...)
			}
			return fill(s, inventory.ActiveCertKey, inventory.ActiveKeyKey, pair)
		},
	}
}

// writesGarbage makes an object unreadable, or takes the key of a pair away.
func (w *world) writesGarbage(d *trust.Domain) *edit {
	switch w.dice.roll(3, "garbage") {
	case 0:
		name := w.leafName(d)
		return &edit{
			what: "writes a key into " + name + " that is not that of its certificate", kind: trust.SecretKind, name: name,
			secret: func(s *corev1.Secret) bool {
				pair, err := w.authority("nobody")
				if err != nil || s.ResourceVersion == "" {
					return false
				}
				key, err := pair.KeyPEM()
				s.Data[inventory.ActiveKeyKey] = key
				return err == nil
			},
		}
	case 1:
		return &edit{
			what: "writes garbage into " + d.Signer.Name, kind: trust.SecretKind, name: d.Signer.Name,
			secret: func(s *corev1.Secret) bool {
				s.Data[inventory.ActiveCertKey] = []byte("garbage")
				return true
			},
		}
	default:
		return &edit{
			what: "writes garbage into " + d.Bundle.Name, kind: trust.ConfigMapKind, name: d.Bundle.Name,
			configMap: func(cm *corev1.ConfigMap) bool {
				cm.Data = map[string]string{inventory.BundleKey: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}
				return true
			},
		}
	}
}
