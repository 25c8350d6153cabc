// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// sign puts the signing CA into the configuration of a request. The checksum of the CA is part of the object's name.
func (i *Instance) sign(ctx context.Context, r *request) error {
	by := r.options.signer
	if by == nil {
		return nil
	}
	of, err := i.signers(ctx, by)
	if err != nil {
		return fmt.Errorf("signing CA %q: %w", by.name, err)
	}
	signer := of.current
	if old := of.old; old != nil && edition.Of(old).Signs(i.clock.Now()) && i.wantsOld(r, of) {
		signer = old
	}
	authority, err := i.authority(ctx, by.name, signer)
	if err != nil {
		return fmt.Errorf("signing CA %q: %w", by.name, err)
	}
	r.config = with(r.config, func(c *kinds.CertificateSecretConfig) { c.SigningCA = authority })
	r.wanted.Signer = edition.DataChecksum(signer.Data)
	r.provisional = i.settings.planOnly && signer.UID == ""
	return nil
}

// wantsOld reports whether the old CA of a signer signs what is requested.
func (i *Instance) wantsOld(r *request, signer *entry) bool {
	by := r.options.signer
	if by.class == classSame {
		for _, e := range slices.Backward(i.byName()[r.wanted.Name]) {
			switch {
			case edition.Of(signer.current).Signed(e):
				return false
			case edition.Of(signer.old).Signed(e):
				return true
			}
		}
	}
	return by.wantsOld(certificateOf(r.config).CertType)
}

// wantsOld reports whether the old CA, while there is one, signs a certificate of this type.
func (s *signedBy) wantsOld(of kinds.CertType) bool {
	switch of {
	case kinds.ClientCert:
		return s.class == classOld
	case kinds.ServerCert, kinds.ServerClientCert:
		return s.class != classCurrent
	case kinds.CACert:
	}
	return false
}

// signers returns the current and the old edition of an authority.
func (i *Instance) signers(ctx context.Context, by *signedBy) (*entry, error) {
	if of := i.entry(by.name); of != nil {
		return of, nil
	}
	if !by.missing {
		return nil, ErrUnknownCA
	}
	if err := i.list(ctx); err != nil {
		return nil, err
	}
	var of []*edition.Edition
	for _, e := range i.byName()[by.name] {
		if e.Authority {
			of = append(of, e)
		}
	}
	if len(of) == 0 {
		return nil, ErrUnknownCA
	}
	i.currentLast(by.name, of)
	loaded := &entry{loaded: true}
	loaded.current, _ = i.known(of[len(of)-1].NamespacedName)
	if len(of) > 1 {
		loaded.old, _ = i.known(of[len(of)-2].NamespacedName)
	}
	if bundles := i.byName()[edition.BundleName(by.name)]; len(bundles) > 0 {
		loaded.bundle, _ = i.known(bundles[len(bundles)-1].NamespacedName)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if there := i.entries[by.name]; there != nil {
		return there, nil
	}
	i.entries[by.name] = loaded
	return loaded, nil
}

// currentLast puts the edition of the recorded rotation of a group last. It is not the newest one after an abort.
func (i *Instance) currentLast(name string, of []*edition.Edition) {
	if i.settings.rotating[name] == nil {
		return
	}
	at := i.rotations[name].Time
	slices.SortStableFunc(of, func(a, b *edition.Edition) int {
		current := func(e *edition.Edition) int {
			if e.Labels[edition.LabelLastRotationInitiationTime] == at {
				return 1
			}
			return 0
		}
		return cmp.Compare(current(a), current(b))
	})
}

// authority loads the Secret of a CA for signing, once per instance.
func (i *Instance) authority(ctx context.Context, name string, secret *corev1.Secret) (*kinds.Certificate, error) {
	key := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
	i.mu.Lock()
	loaded := i.authorities[key]
	i.mu.Unlock()
	if loaded != nil {
		return loaded, nil
	}
	loaded, err := i.load(ctx, name, secret)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", key, err)
	}
	i.mu.Lock()
	i.authorities[key] = loaded
	i.mu.Unlock()
	return loaded, nil
}

func (i *Instance) load(ctx context.Context, name string, secret *corev1.Secret) (*kinds.Certificate, error) {
	data := secret.Data
	switch {
	case len(data[kinds.DataKeyPrivateKeyCA]) > 0:
		return kinds.LoadCertificate(name, data[kinds.DataKeyPrivateKeyCA], data[kinds.DataKeyCertificateCA])
	case len(data[kinds.DataKeyPrivateKey]) > 0:
		// Another authority has signed this one.
		return kinds.LoadCertificate(name, data[kinds.DataKeyPrivateKey], data[kinds.DataKeyCertificate])
	case i.settings.keys == nil || secret.Labels[edition.LabelKeyOutside] != edition.True:
		return nil, ErrNoKey
	}
	chain, err := pki.ParseChain(data[kinds.DataKeyCertificateCA])
	if err != nil {
		return nil, err
	}
	key, err := i.settings.keys.Key(ctx, secret.Namespace, secret.Name, chain[0].KeyAlgorithm)
	if err != nil {
		return nil, fmt.Errorf("get the key from outside: %w", err)
	}
	return kinds.LoadCertificateOutside(name, key, data[kinds.DataKeyCertificateCA])
}
