// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// Generate implements Interface. The caller owns the result.
func (i *Instance) Generate(ctx context.Context, config kinds.Config, options ...GenerateOption) (*corev1.Secret, error) {
	done := i.begin(config.GetName())
	secret, err := i.generate(ctx, config, options)
	done(err)
	if err != nil {
		i.settings.metrics.failed()
		return nil, fmt.Errorf("generate secret %q: %w", config.GetName(), err)
	}
	return secret.DeepCopy(), nil
}

func (i *Instance) generate(ctx context.Context, config kinds.Config, options []GenerateOption) (*corev1.Secret, error) {
	if err := i.list(ctx); err != nil {
		return nil, err
	}
	r, err := i.request(ctx, config, options)
	if err != nil {
		return nil, err
	}
	secret, err := i.obtain(ctx, r)
	if err != nil {
		return nil, err
	}
	of := &entry{current: secret}
	former := i.old(r, secret)
	if err := i.consent(ctx, r.wanted.Name, former); err != nil {
		return nil, err
	}
	if len(former) > 0 {
		of.old, _ = i.known(former[0].NamespacedName)
	}
	if of.bundle, err = i.bundle(ctx, r, secret, former); err != nil {
		return nil, err
	}
	i.enter(r.wanted.Name, of)
	return secret, nil
}

// enter registers what was generated. A caller that asks for a name twice, with other options, keeps both.
func (i *Instance) enter(name string, of *entry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.entries[name] = of
	for what, secret := range map[string]*corev1.Secret{"current one": of.current, "old one": of.old, "bundle": of.bundle} {
		if secret != nil {
			i.asked[keyOf(secret)] = "it is the " + what + " of " + name
		}
	}
}

// obtain returns the Secret of a request: the existing one, with corrected labels, or a new one.
func (i *Instance) obtain(ctx context.Context, r *request) (*corev1.Secret, error) {
	secret, _ := i.known(r.object)
	if secret == nil {
		created, err := i.create(ctx, r)
		if err != nil {
			return i.hold(r, err)
		}
		return created, nil
	}
	if err := check(r, secret); err != nil {
		return nil, fmt.Errorf("secret %s: %w", r.object, err)
	}
	return i.relabel(ctx, r, secret)
}

// old returns the former editions that count, the newest first. The options may exclude them.
func (i *Instance) old(r *request, current *corev1.Secret) []*edition.Edition {
	e := edition.Of(current)
	if r.options.strategy != KeepOld || r.options.ignoreOld {
		return nil
	}
	now := i.clock.Now()
	if after := r.options.ignoreOldAfter; after != nil && !e.Issued.IsZero() && now.Sub(e.Issued) >= *after {
		return nil
	}
	return edition.Kept(i.former(r.wanted.Name, e), i.all(), now)
}

// bundle returns what is trusted along with a secret, nil for kinds without a bundle. For a CA that is its
// certificate and the old ones that have not expired, for an RSA key the keys.
func (i *Instance) bundle(ctx context.Context, r *request, current *corev1.Secret, former []*edition.Edition) (*corev1.Secret, error) {
	key, make := bundleOf(r.config)
	if make == nil {
		return nil, nil
	}
	contents := [][]byte{current.Data[key]}
	for _, e := range former {
		old, _ := i.known(e.NamespacedName)
		if e.Authority && e.Expired(i.clock.Now()) || len(old.Data[key]) == 0 {
			continue
		}
		contents = append(contents, old.Data[key])
	}
	of := &request{
		config: make(edition.BundleName(r.wanted.Name), contents),
		wanted: edition.Wanted{Name: edition.BundleName(r.wanted.Name), Identity: i.identity, BundleFor: r.wanted.Name},
		// Its content is not made yet.
		provisional: i.settings.planOnly && current.UID == "",
	}
	if err := i.locate(of, r.object.Namespace); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	secret, err := i.obtain(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return secret, nil
}

// bundleOf returns the data key that goes into the bundle of a secret, and makes the configuration of the bundle; nil
// for kinds without one.
func bundleOf(config kinds.Config) (key string, make func(name string, contents [][]byte) kinds.Config) {
	switch config := config.(type) {
	case *kinds.CertificateSecretConfig:
		if config.CertType == kinds.CACert && config.SigningCA == nil {
			return kinds.DataKeyCertificateCA, func(name string, contents [][]byte) kinds.Config {
				return &kinds.CertificateBundleSecretConfig{Name: name, CertificatePEMs: contents}
			}
		}
	case *kinds.RSASecretConfig:
		if !config.UsedForSSH {
			return kinds.DataKeyRSAPrivateKey, func(name string, contents [][]byte) kinds.Config {
				return &kinds.RSAPrivateKeyBundleSecretConfig{Name: name, PrivateKeyPEMs: contents}
			}
		}
	}
	return "", nil
}
