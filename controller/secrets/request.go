// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// request is one call of Generate, with everything that determines the object.
type request struct {
	// config is a copy if it has a signer.
	config  kinds.Config
	options generateOptions
	wanted  edition.Wanted
	object  types.NamespacedName
	// provisional means that the name will be another one when keys are made, because a signer is only planned.
	provisional bool
}

func (i *Instance) request(ctx context.Context, config kinds.Config, options []GenerateOption) (*request, error) {
	r := &request{config: config}
	for _, option := range options {
		option(&r.options)
	}
	namespace := i.settings.namespaces[0]
	if r.options.namespace != "" {
		namespace = r.options.namespace
	}
	if !i.manages(namespace) {
		return nil, fmt.Errorf("namespace %q: %w", namespace, ErrNamespaceNotManaged)
	}
	if err := checkName(config.GetName()); err != nil {
		return nil, err
	}
	if err := r.options.check(config); err != nil {
		return nil, err
	}
	r.wanted = edition.Wanted{
		Name: config.GetName(), Identity: i.identity, BundleFor: r.options.bundleFor, Persist: r.options.persist,
		BareName: r.options.bareName && !i.signed(config, &r.options), RenewAfter: r.options.renewAfter, Labels: r.options.labels,
	}
	if err := i.sign(ctx, r); err != nil {
		return nil, err
	}
	return r, i.locate(r, namespace)
}

// signed reports whether another CA signs it.
func (i *Instance) signed(config kinds.Config, o *generateOptions) bool {
	certificate := certificateOf(config)
	return o.signer != nil || certificate != nil && certificate.SigningCA != nil
}

func (i *Instance) locate(r *request, namespace string) error {
	var err error
	if r.wanted.Config, err = edition.StructuralHash(r.config); err != nil {
		return err
	}
	i.mu.Lock()
	r.wanted.Rotation = i.rotations[r.wanted.Name].Time
	i.mu.Unlock()
	r.object = types.NamespacedName{Namespace: namespace, Name: r.wanted.ObjectName()}
	return nil
}

// certificateOf returns the certificate of a configuration, nil if it has none.
func certificateOf(config kinds.Config) *kinds.CertificateSecretConfig {
	switch config := config.(type) {
	case *kinds.CertificateSecretConfig:
		return config
	case *kinds.ControlPlaneSecretConfig:
		return config.CertificateSecretConfig
	}
	return nil
}

// with returns a configuration with a changed certificate. The caller's own stays unchanged.
func with(config kinds.Config, change func(*kinds.CertificateSecretConfig)) kinds.Config {
	switch config := config.(type) {
	case *kinds.CertificateSecretConfig:
		changed := *config
		change(&changed)
		return &changed
	case *kinds.ControlPlaneSecretConfig:
		changed := *config
		certificate := *config.CertificateSecretConfig
		change(&certificate)
		changed.CertificateSecretConfig = &certificate
		return &changed
	}
	return config
}
