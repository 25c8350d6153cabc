// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/signer"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// writeSigner changes the slots of a signer Secret.
func (c *Controller) writeSigner(ctx context.Context, d *trust.Domain, action *trust.Action) (string, error) {
	return c.writeSecret(ctx, d.Namespace, action, corev1.SecretTypeTLS, func(secret *corev1.Secret) error {
		keepActiveKeys(secret)
		switch action.Kind {
		case trust.GenerateActive:
			return c.generateActive(secret, d, action)
		case trust.GenerateNext:
			return c.generateNext(secret, d, action)
		case trust.Promote:
			return promote(secret, action.Authority)
		case trust.DropNext:
			return moveToPrevious(secret, inventory.NextCertKey, inventory.NextKeyKey)
		case trust.DestroyPrevious:
			dropSlot(secret, inventory.PreviousCertKey, inventory.PreviousKeyKey)
		default:
			return fmt.Errorf("action %q is none of a signer", action.Kind)
		}
		return nil
	})
}

// newAuthority makes the next generation of a signer. Each has a subject of its own, also if two are made within the
// second that the name counts in.
func (c *Controller) newAuthority(d *trust.Domain, action *trust.Action) (*pki.Pair, error) {
	now := c.clock.Now()
	profile := action.Profile
	for at := now; ; at = at.Add(time.Second) {
		profile.CommonName = pki.GenerationName(d.Namespace, d.Signer.Name, at)
		taken := slices.ContainsFunc(generations(d), func(ca *pki.Certificate) bool {
			return ca != nil && ca.CommonName == profile.CommonName
		})
		if !taken {
			return pki.NewAuthority(profile, now)
		}
	}
}

// generateActive fills the slot active. What was there becomes previous, like everything that is replaced: keys are
// destroyed by the last step only.
func (c *Controller) generateActive(secret *corev1.Secret, d *trust.Domain, action *trust.Action) error {
	made, err := c.newAuthority(d, action)
	if err != nil {
		return err
	}
	if err := moveToPrevious(secret, inventory.ActiveCertKey, inventory.ActiveKeyKey); err != nil {
		return err
	}
	applyMetadata(&secret.ObjectMeta, action, trust.MetadataOfSigner(d.Name, made.Certificate, d.Signer.Policy))
	return setSlot(secret, inventory.ActiveCertKey, inventory.ActiveKeyKey, made)
}

// generateNext fills the slot next. The annotations go on describing the active CA; if there is none, only the labels
// are known.
func (c *Controller) generateNext(secret *corev1.Secret, d *trust.Domain, action *trust.Action) error {
	made, err := c.newAuthority(d, action)
	if err != nil {
		return err
	}
	described := trust.MetadataOfSigner(d.Name, made.Certificate, d.Signer.Policy)
	applyMetadata(&secret.ObjectMeta, action, trust.Metadata{Labels: described.Labels})
	return setSlot(secret, inventory.NextCertKey, inventory.NextKeyKey, made)
}

// promote moves next to active, and active to the front of previous, in one write.
func promote(secret *corev1.Secret, next pki.Fingerprint) error {
	promoted, err := signer.Slot(secret, inventory.NextCertKey, inventory.NextKeyKey)
	if err != nil {
		return err
	}
	if !signer.Holds(promoted, next) {
		return errStale
	}
	if err := moveToPrevious(secret, inventory.ActiveCertKey, inventory.ActiveKeyKey); err != nil {
		return err
	}
	dropSlot(secret, inventory.NextCertKey, inventory.NextKeyKey)
	return setSlot(secret, inventory.ActiveCertKey, inventory.ActiveKeyKey, promoted)
}

// moveToPrevious empties a slot, and puts what was in it in front of the previous CAs.
func moveToPrevious(secret *corev1.Secret, certKey, keyKey string) error {
	replaced, err := signer.Slot(secret, certKey, keyKey)
	if err != nil {
		return err
	}
	dropSlot(secret, certKey, keyKey)
	if replaced == nil {
		return nil
	}
	previous, err := signer.Previous(secret)
	if err != nil {
		return err
	}
	return setSlot(secret, inventory.PreviousCertKey, inventory.PreviousKeyKey, append([]*pki.Pair{replaced}, previous...)...)
}

func dropSlot(secret *corev1.Secret, certKey, keyKey string) {
	delete(secret.Data, certKey)
	delete(secret.Data, keyKey)
}
