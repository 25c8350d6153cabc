// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// identity is who the collector is to the servers of one member, for the time of one visit.
type identity struct {
	// pair is that of the configured client leaf, nil if there is none.
	pair *tls.Certificate
	// proofs are client leaves of the CAs that are to be proven; empty where the server's list of names is what proves.
	proofs []proof
	// stranger is a client leaf like the proofs, of a CA that nobody knows. Set if there are proofs.
	stranger *tls.Certificate
	// failure says what is wrong with any of them, "" if nothing is.
	failure string
}

// proof is a client leaf that only who trusts a certain CA can verify.
type proof struct {
	ca   pki.Fingerprint
	pair *tls.Certificate
}

// strangerProfile is of the CA that nobody knows. Its key is gone when the visit begins.
var strangerProfile = pki.Profile{CommonName: "certrotation: a CA that nobody trusts", Key: pki.ECDSAP256, Validity: time.Hour, Backdate: time.Hour}

// identify reads, and makes, what a probe shows to servers. It fails only if the API server cannot be asked, which says
// nothing about the member. What is wrong otherwise is part of the identity: what a server presents can be seen all the
// same.
func (c *Collector) identify(ctx context.Context, s *subject, probe *trust.Probe) (*identity, error) {
	id := &identity{}
	profile := pki.Profile{CommonName: "certrotation-probe", Usages: []pki.Usage{pki.ClientAuth}}
	if probe.ClientLeaf != "" {
		leaf, err := c.clientLeaf(ctx, s.d, probe.ClientLeaf, id)
		if err != nil {
			return nil, err
		}
		if leaf != nil {
			profile = likeness(leaf)
		}
	}
	if !probe.Handshake {
		return id, nil
	}
	profile.Key, profile.Validity, profile.Backdate = pki.ECDSAP256, mintedFor, mintedBefore
	for _, ca := range proven(s.d, c.clock.Now()) {
		pair, err := c.minter.Mint(ctx, s.d, ca.Fingerprint, profile)
		switch {
		case err == nil:
			id.proofs = append(id.proofs, proof{ca: attested(s.d, ca, c.clock.Now()), pair: &pair})
		case errors.Is(err, errUnmintable):
			id.failure = cmp.Or(id.failure, fmt.Sprintf(
				"it cannot be probed with a client leaf of %s: Secret/%s has no usable key of that CA", ca.Subject, s.d.Signer.Name))
		default:
			return nil, err
		}
	}
	if len(id.proofs) == 0 {
		return id, nil
	}
	stranger, err := strange(profile, c.clock.Now())
	if err != nil {
		return nil, err
	}
	id.stranger = &stranger
	return id, nil
}

// clientLeaf reads the configured client leaf. Its certificate is nil if there is no usable pair.
func (c *Collector) clientLeaf(ctx context.Context, d *trust.Domain, name string, id *identity) (*pki.Certificate, error) {
	secret, err := c.client.CoreV1().Secrets(d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		id.failure = "the client leaf Secret/" + name + " does not exist"
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read client leaf %s/%s: %w", d.Namespace, name, err)
	}
	if !trust.Consents(secret.Annotations, d.Configuration) {
		id.failure = fmt.Sprintf("the client leaf Secret/%s does not consent to RotationConfiguration/%s: run `kubectl certrotation adopt -n %s %s`",
			name, d.Configuration, d.Namespace, d.Configuration)
		return nil, nil
	}
	leaf, err := inventory.ActivePair(secret.Data)
	if err != nil {
		id.failure = fmt.Sprintf("the client leaf Secret/%s is no usable pair: %v", name, err)
		return nil, nil
	}
	pair, err := connection.Certificate(leaf)
	if err != nil {
		return nil, fmt.Errorf("present client leaf %s/%s: %w", d.Namespace, name, err)
	}
	id.pair = &pair
	return leaf.Certificate, nil
}

// likeness has a minted leaf bear the names of another one, so that who authorises by name sees nobody new.
func likeness(leaf *pki.Certificate) pki.Profile {
	usages := leaf.Usages
	if !slices.Contains(usages, pki.ClientAuth) {
		usages = append(slices.Clone(usages), pki.ClientAuth)
	}
	return pki.Profile{
		CommonName: leaf.CommonName, Organizations: leaf.Organizations, DNSNames: leaf.DNSNames, IPAddresses: leaf.IPAddresses,
		Usages: usages,
	}
}

// proven lists the CAs that handshakes are to prove: those that leaves may be signed by.
func proven(d *trust.Domain, now time.Time) []*pki.Certificate {
	return slices.DeleteFunc([]*pki.Certificate{d.Signer.Next, d.Signer.Active}, func(ca *pki.Certificate) bool {
		return ca == nil || !ca.ValidAt(now)
	})
}

// attested is the CA of which it is proven that a server has loaded it, if it accepts a leaf of ca. CAs of one key and name
// accept the same leaves, so of those it is the one that ends first. What has expired accepts nothing.
func attested(d *trust.Domain, ca *pki.Certificate, now time.Time) pki.Fingerprint {
	first := ca
	for _, known := range slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous, d.Bundle.Anchors) {
		if known != nil && known.SubjectHash == ca.SubjectHash && known.PublicKeyHash == ca.PublicKeyHash &&
			!known.Expired(now) && known.NotAfter.Before(first.NotAfter) {
			first = known
		}
	}
	return first.Fingerprint
}

// strange makes a client leaf of a CA that nobody knows.
func strange(profile pki.Profile, now time.Time) (tls.Certificate, error) {
	ca, err := pki.NewAuthority(strangerProfile, now)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a CA that nobody trusts: %w", err)
	}
	return leafOf(ca, profile, now)
}
