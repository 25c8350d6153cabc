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

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// identity is what the collector presents to the servers of one member, during one visit.
type identity struct {
	// pair is the configured client leaf. It may be nil.
	pair *tls.Certificate
	// proofs are client leaves of the CAs to prove. It is empty if the server's list of CA names is the proof.
	proofs []proof
	// untrusted is a client leaf like the proofs, but of an unknown CA. It is set if there are proofs.
	untrusted *tls.Certificate
	// failure describes what is wrong with any of them. It is empty if they are usable.
	failure string
}

// proof is a client leaf that only a server which trusts the CA can verify.
type proof struct {
	ca   pki.Fingerprint
	pair *tls.Certificate
}

// untrustedProfile is the profile of the unknown CA. Its key is discarded before the visit begins.
var untrustedProfile = pki.Profile{CommonName: "certrotation: untrusted CA", Key: pki.ECDSAP256, Validity: time.Hour, Backdate: time.Hour}

// identify reads and issues what a probe presents. It fails only if the API server cannot be asked, which says
// nothing about the member. Other problems go into the identity's failure, because the server's chain can be observed
// anyway.
func (c *Collector) identify(ctx context.Context, s *subject, probe *trust.Probe) (*identity, error) {
	id := &identity{}
	profile := pki.Profile{CommonName: "certrotation-probe", Usages: []pki.Usage{pki.ClientAuth}}
	if probe.ClientLeaf != "" {
		leaf, err := c.clientLeaf(ctx, s.d, probe.ClientLeaf, id)
		if err != nil {
			return nil, err
		}
		if leaf != nil {
			profile = copySubject(leaf)
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
				"it cannot be probed with a client leaf of %s: Secret/%s has no usable key of that CA", ca.Subject, keyHolder(s.d)))
		default:
			return nil, err
		}
	}
	if len(id.proofs) == 0 {
		return id, nil
	}
	untrusted, err := issueUntrusted(profile, c.clock.Now())
	if err != nil {
		return nil, err
	}
	id.untrusted = &untrusted
	return id, nil
}

// clientLeaf reads the configured client leaf. The certificate is nil if there is no usable pair.
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
	pair, err := dial.Certificate(leaf)
	if err != nil {
		return nil, fmt.Errorf("present client leaf %s/%s: %w", d.Namespace, name, err)
	}
	id.pair = &pair
	return leaf.Certificate, nil
}

// copySubject returns a profile with the names of leaf, so that servers that authorize by name see a known client.
func copySubject(leaf *pki.Certificate) pki.Profile {
	usages := leaf.Usages
	if !slices.Contains(usages, pki.ClientAuth) {
		usages = append(slices.Clone(usages), pki.ClientAuth)
	}
	return pki.Profile{
		CommonName: leaf.CommonName, Organizations: leaf.Organizations, DNSNames: leaf.DNSNames, IPAddresses: leaf.IPAddresses,
		Identities: leaf.Identities, Usages: usages,
	}
}

// proven lists the CAs that handshakes must prove: those that may sign leaves. Another issuer has the key of its present
// CA alone.
func proven(d *trust.Domain, now time.Time) []*pki.Certificate {
	issued := d.Signer.Issued
	return slices.DeleteFunc([]*pki.Certificate{d.Signer.Next, d.Signer.Active}, func(ca *pki.Certificate) bool {
		return ca == nil || !ca.ValidAt(now) || issued != nil && !ca.Equal(issued.Certificate)
	})
}

// attested returns the anchor that a server is proven to have loaded if it accepts a leaf of ca. CAs with the same key
// and name accept the same leaves, so it is the one of them that ends first. Expired CAs accept nothing and do not
// count. An intermediate that is published itself may be what the server has loaded, and not its root.
func attested(d *trust.Domain, ca *pki.Certificate, now time.Time) pki.Fingerprint {
	if !slices.ContainsFunc(d.Bundle.Anchors, ca.Equal) {
		ca = d.AnchorOf(ca)
	}
	first := ca
	for _, known := range slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous, d.Bundle.Anchors) {
		if known != nil && known.SubjectHash == ca.SubjectHash && known.PublicKeyHash == ca.PublicKeyHash &&
			!known.Expired(now) && known.NotAfter.Before(first.NotAfter) {
			first = known
		}
	}
	return first.Fingerprint
}

func issueUntrusted(profile pki.Profile, now time.Time) (tls.Certificate, error) {
	ca, err := pki.NewAuthority(untrustedProfile, now)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make an untrusted CA: %w", err)
	}
	return leafOf(ca, profile, now)
}
