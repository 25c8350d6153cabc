// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/keyutil"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/issuer"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// certManager issues the leaves of a world, and maybe the CAs, into Secrets of its own. It asks nobody.
type certManager struct {
	// asked are the Secrets of which a certificate is asked for, failed those of which the last attempt has failed.
	asked, failed map[string]bool
	// signers are the CAs that have signed its leaves, by the leaf.
	signers map[pki.Fingerprint]*pki.Certificate
}

func newCertManager() *certManager {
	return &certManager{asked: map[string]bool{}, failed: map[string]bool{}, signers: map[pki.Fingerprint]*pki.Certificate{}}
}

// delivery is a Secret in which the issuer delivers, and what. The CA of a domain has no leaf.
type delivery struct {
	domain *configv1alpha1.TrustDomain
	leaf   *configv1alpha1.Leaf
	secret string
}

// deliveries are what the issuer delivers in a world, CAs before their leaves.
func (w *world) deliveries() []delivery {
	var cas, leaves []delivery
	for i := range w.configuration.Spec.TrustDomains {
		d := &w.configuration.Spec.TrustDomains[i]
		if name := d.Signer.IssuedSecretName; name != "" {
			cas = append(cas, delivery{domain: d, secret: name})
		}
		for k := range d.Leaves {
			if l := &d.Leaves[k]; l.IssuedSecretName != "" {
				leaves = append(leaves, delivery{domain: d, leaf: l, secret: l.IssuedSecretName})
			}
		}
	}
	return append(cas, leaves...)
}

// issuedCAName is the subject of all CAs that the issuer makes.
const issuedCAName = "cert-manager's CA"

// caLife is how long a CA of the issuer lives.
func (t topology) caLife() time.Duration {
	switch {
	case t.outlived:
		return t.leafLife() * 2 / 3
	case t.short:
		return shortSignerValidity
	}
	return signerValidity
}

// issue delivers a new pair: a CA of the same name with a new key, or a leaf of the CA that its Secret has now. It
// reports whether it could.
func (w *world) issue(to delivery) bool {
	var made *pki.Pair
	var err error
	if to.leaf == nil {
		made, err = pki.NewAuthority(pki.Profile{
			CommonName: issuedCAName, Key: pki.Ed25519, Validity: w.topology.caLife(), Backdate: 5 * time.Minute,
		}, w.clock.now())
	} else {
		made, err = w.issueLeaf(to)
	}
	if err != nil {
		return false
	}
	key, err := made.KeyPEM()
	if err != nil {
		return false
	}
	secret := &corev1.Secret{
		ObjectMeta: consenting(), Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{inventory.ActiveCertKey: made.Certificate.PEM(), inventory.ActiveKeyKey: key},
	}
	secret.Name = to.secret
	w.api.putSecret(secret, w.clock.now())
	delete(w.issuer.asked, to.secret)
	delete(w.issuer.failed, to.secret)
	return true
}

func (w *world) issueLeaf(to delivery) (*pki.Pair, error) {
	from := to.domain.Signer.IssuedSecretName
	if from == "" {
		from = to.domain.Signer.SecretName
	}
	secret := w.api.secrets[from]
	if secret == nil {
		return nil, apierrors.NewNotFound(secretResource, from)
	}
	ca, err := activePair(secret)
	if err != nil {
		return nil, err
	}
	l, life := to.leaf, w.topology.leafLife()
	leaf, err := ca.Issue(pki.Profile{
		CommonName: l.CommonName, DNSNames: l.DNSNames, Usages: usagesOf(l), Key: pki.Ed25519, Validity: life, Backdate: 5 * time.Minute,
	}, w.clock.now())
	if err != nil {
		return nil, err
	}
	if leaf, err = outliving(leaf, ca, w.clock.now().Add(life)); err != nil {
		return nil, fmt.Errorf("let the leaf %s end later: %w", to.secret, err)
	}
	w.issuer.signers[leaf.Certificate.Fingerprint] = ca.Certificate
	return leaf, nil
}

func usagesOf(l *configv1alpha1.Leaf) []pki.Usage {
	var out []pki.Usage
	for _, usage := range l.Usages {
		if usage == configv1alpha1.ServerAuth {
			out = append(out, pki.ServerAuth)
		} else {
			out = append(out, pki.ClientAuth)
		}
	}
	return out
}

// outliving signs a leaf anew that ends at a time, also if its CA ends earlier.
func outliving(leaf, ca *pki.Pair, end time.Time) (*pki.Pair, error) {
	template, err := x509.ParseCertificate(leaf.Certificate.DER())
	if err != nil {
		return nil, err
	}
	parent, err := x509.ParseCertificate(ca.Certificate.DER())
	if err != nil {
		return nil, err
	}
	text, err := ca.KeyPEM()
	if err != nil {
		return nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, err
	}
	template.NotAfter = end
	der, err := x509.CreateCertificate(nil, template, parent, template.PublicKey, key)
	if err != nil {
		return nil, err
	}
	made, err := pki.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	if text, err = leaf.KeyPEM(); err != nil {
		return nil, err
	}
	return pki.ParsePair(made.PEM(), text)
}

// orphaned reports whether a leaf has outlived the CA of the issuer that has signed it. No verifier accepts it.
func (w *world) orphaned(leaf *pki.Certificate, now time.Time) bool {
	ca := w.issuer.signers[leaf.Fingerprint]
	return ca != nil && ca.Expired(now)
}

var _ rotation.Issuer = (*leader)(nil)

// Request implements rotation.Issuer as controller/issuer does. An answer takes its time.
func (l *leader) Request(_ context.Context, _, secret, _ string) error {
	if err := l.read(); err != nil {
		return err
	}
	m := l.world.issuer
	switch {
	case l.world.api.secrets[secret] == nil:
		return apierrors.NewNotFound(secretResource, secret)
	case m.asked[secret]:
		return issuer.ErrPending
	}
	failed := m.failed[secret]
	if _, err := written(l, "the Certificate of Secret/"+secret, func() (struct{}, error) {
		m.asked[secret] = true
		delete(m.failed, secret)
		return struct{}{}, nil
	}); err != nil {
		return err
	}
	l.world.counts.event(issuerAsked)
	if failed {
		return &issuer.FailedError{Why: "the last attempt has failed"}
	}
	return nil
}

// restIssuer has the issuer answer what it is asked for, make what is lost, and renew what is due or not valid.
func (w *world) restIssuer() {
	for _, to := range w.deliveries() {
		if !w.issuer.asked[to.secret] && !w.issueDue(to) {
			continue
		}
		if w.issue(to) {
			w.say("the issuer issues %s", to.secret)
		}
	}
}

// issueDue reports whether two thirds of a certificate's life are over, or there is none that is valid.
func (w *world) issueDue(to delivery) bool {
	secret := w.api.secrets[to.secret]
	if secret == nil {
		return true
	}
	pair, err := activePair(secret)
	if err != nil {
		return true
	}
	c, now := pair.Certificate, w.clock.now()
	return !c.ValidAt(now) || now.After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore)/3)) || to.leaf != nil && w.orphaned(c, now)
}

// deliveredIn reports whether no process loads a Secret: the issuer delivers in it what the configuration does not name now.
func (w *world) deliveredIn(l *trust.Leaf) bool {
	return l.Unnamed && slices.ContainsFunc(w.deliveries(), func(to delivery) bool { return to.secret == l.Name })
}

// checkIssued checks, at rest, that a domain has taken the CA that its issuer signs with.
func checkIssued(d *trust.Domain) error {
	if s := &d.Signer; s.Issued != nil && (s.Issued.Certificate == nil || !s.Issued.Certificate.Equal(s.Active)) {
		return violated("NoSilentWait", "at rest %s does not have the CA in Secret/%s", d.Name, s.Issued.Name)
	}
	behind := func(l trust.Leaf) bool {
		return l.Issued != nil && l.Issued.Certificate != nil && l.Certificate != nil &&
			l.Issued.Certificate.SignedBy(d.Signer.Active) && l.Certificate.NotBefore.Before(l.Issued.Certificate.NotBefore)
	}
	if at := slices.IndexFunc(d.Leaves, behind); at >= 0 {
		return violated("NoSilentWait", "at rest Secret/%s is older than what was issued for it", d.Leaves[at].Name)
	}
	return nil
}
