// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// keepActiveKeys adds the keys that the Secret type requires; they are empty if the slot is empty.
func keepActiveKeys(secret *corev1.Secret) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for _, name := range []string{inventory.ActiveCertKey, inventory.ActiveKeyKey} {
		if secret.Data[name] == nil {
			secret.Data[name] = []byte{}
		}
	}
}

// slot is a slot of the signer: without keys if its issuer keeps them.
func (c domainContent) slot(slot inventory.Slot) inventory.Slot {
	if c.domain.Signer.Issued != nil {
		return slot.WithoutKeys()
	}
	return slot
}

// newAuthority creates the next generation of a signer, or takes it from the issuer. Each that is created has its own
// subject, even if two are made within the second that the name resolves.
func (c domainContent) newAuthority(ctx context.Context, action *trust.Action) (*pki.Pair, error) {
	if action.From != nil {
		return c.taken(ctx, action.From)
	}
	return pki.NewAuthority(c.nextGeneration(c.domain, action), c.clock.Now())
}

// nextGeneration returns the profile of the next generation of a signer.
func (c *Controller) nextGeneration(d *trust.Domain, action *trust.Action) pki.Profile {
	profile := action.Profile
	for at := c.clock.Now(); ; at = at.Add(time.Second) {
		profile.CommonName = pki.GenerationName(d.Namespace, d.Signer.Name, at)
		taken := slices.ContainsFunc(authorities(d), func(ca *pki.Certificate) bool {
			return ca != nil && ca.CommonName == profile.CommonName
		})
		if !taken {
			return profile
		}
	}
}

// authorities returns all CAs of a domain, whose names are taken.
func authorities(d *trust.Domain) []*pki.Certificate {
	return slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous, d.Bundle.Anchors)
}

// generateActive fills the slot active. The former content moves to previous, like every replaced key: only the last
// step destroys keys.
func (c domainContent) generateActive(ctx context.Context, secret *corev1.Secret, action *trust.Action) error {
	d := c.domain
	made, err := c.newAuthority(ctx, action)
	if err != nil {
		return err
	}
	if err := c.moveToPrevious(secret, inventory.ActiveSlot); err != nil {
		return err
	}
	if err := c.takeBack(secret, made.Certificate); err != nil {
		return err
	}
	applyMetadata(&secret.ObjectMeta, action, trust.MetadataOfSigner(d.Name, made.Certificate, d.Signer.Policy))
	return c.slot(inventory.ActiveSlot).Put(secret.Data, made)
}

// generateNext fills the slot next. It sets labels only, because the annotations continue to describe the active CA.
func (c domainContent) generateNext(ctx context.Context, secret *corev1.Secret, action *trust.Action) error {
	d := c.domain
	made, err := c.newAuthority(ctx, action)
	if err != nil {
		return err
	}
	if err := c.takeBack(secret, made.Certificate); err != nil {
		return err
	}
	described := trust.MetadataOfSigner(d.Name, made.Certificate, d.Signer.Policy)
	applyMetadata(&secret.ObjectMeta, action, trust.Metadata{Labels: described.Labels})
	return c.slot(inventory.NextSlot).Put(secret.Data, made)
}

// takeBack removes a CA from the previous ones: an issuer whose Secret was restored signs with a former CA again.
func (c domainContent) takeBack(secret *corev1.Secret, ca *pki.Certificate) error {
	previous, err := c.slot(inventory.PreviousSlot).Pairs(secret.Data)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(previous), func(pair *pki.Pair) bool { return pair.Certificate.Equal(ca) })
	if len(others) == len(previous) {
		return nil
	}
	return c.slot(inventory.PreviousSlot).Put(secret.Data, others...)
}

// promote moves next to active, and active to the front of previous, in one write.
func (c domainContent) promote(secret *corev1.Secret, next pki.Fingerprint) error {
	promoted, err := c.slot(inventory.NextSlot).Pairs(secret.Data)
	if err != nil {
		return err
	}
	if len(promoted) == 0 || promoted[0].Certificate.Fingerprint != next {
		return apply.ErrStale
	}
	if err := c.moveToPrevious(secret, inventory.ActiveSlot); err != nil {
		return err
	}
	if err := inventory.NextSlot.Put(secret.Data); err != nil {
		return err
	}
	return c.slot(inventory.ActiveSlot).Put(secret.Data, promoted...)
}

// moveToPrevious empties a slot, and puts its content in front of the previous CAs.
func (c domainContent) moveToPrevious(secret *corev1.Secret, slot inventory.Slot) error {
	replaced, err := c.slot(slot).Pairs(secret.Data)
	if err != nil || len(replaced) == 0 {
		return err
	}
	previous, err := c.slot(inventory.PreviousSlot).Pairs(secret.Data)
	if err != nil {
		return err
	}
	if err := slot.Put(secret.Data); err != nil {
		return err
	}
	if err := c.slot(inventory.PreviousSlot).Put(secret.Data, append(replaced, previous...)...); err != nil {
		return err
	}
	inventory.KeepIssuers(secret.Data, replaced...)
	return nil
}

// destroyPrevious empties the slot previous, and forgets the issuers that nothing else needs.
func (c domainContent) destroyPrevious(secret *corev1.Secret) error {
	destroyed, err := c.slot(inventory.PreviousSlot).Pairs(secret.Data)
	if err != nil {
		return err
	}
	if err := inventory.PreviousSlot.Put(secret.Data); err != nil {
		return err
	}
	inventory.KeepIssuers(secret.Data, destroyed...)
	return nil
}
