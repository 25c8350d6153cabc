// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"crypto"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// create creates the Secret of a request with new data. Only a first edition takes data that are labeled for it: with
// a later one, that would be no rotation.
func (i *Instance) create(ctx context.Context, r *request) (*corev1.Secret, error) {
	former := i.former(r.wanted.Name, &edition.Edition{NamespacedName: r.object})
	if len(former) > 0 && former[0].RotatedAfter(r.wanted.Rotation) {
		return nil, fmt.Errorf("rotated at %s, %s: %w", r.wanted.Rotation, former[0].Name, ErrRotationBefore)
	}
	if i.endsUnfinished(r, former) {
		return nil, fmt.Errorf("%s, %s: %w", former[1].Name, former[0].Name, ErrUnfinishedRotation)
	}
	var from *corev1.Secret
	if len(former) == 0 && r.wanted.BundleFor == "" {
		var err error
		if from, err = i.adoptable(ctx, r.object.Namespace, r.wanted.Name); err != nil {
			return nil, err
		}
	}
	secret, step, err := i.prepare(ctx, r, from, former)
	if err != nil {
		return nil, err
	}
	if i.settings.planOnly {
		return i.done(secret, step)
	}
	created, err := i.api.Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return i.take(ctx, r)
	}
	if err != nil {
		return nil, fmt.Errorf("create secret %s: %w", r.object, err)
	}
	return i.done(created, step)
}

// endsUnfinished reports whether a new edition of a key would forget one of two that may be in use. Unlike authorities,
// keys do not say what they were used for.
func (i *Instance) endsUnfinished(r *request, former []*edition.Edition) bool {
	return i.settings.rotating[r.wanted.Name] != nil && r.options.strategy == KeepOld && !r.options.ignoreOld &&
		len(former) > 1 && !former[0].Authority
}

// prepare builds the Secret of a request, without writing it.
func (i *Instance) prepare(ctx context.Context, r *request, from *corev1.Secret, former []*edition.Edition) (*corev1.Secret, *edition.Step, error) {
	i.mu.Lock()
	renews := i.rotations[r.wanted.Name].Renews
	i.mu.Unlock()
	step := &edition.Step{
		Action: edition.Create, Name: r.wanted.Name, Object: r.object, Provisional: r.provisional, Reason: edition.WhyCreate(&r.wanted, former, renews),
	}
	immutable := true
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: r.object.Name, Namespace: r.object.Namespace, Annotations: i.settings.consent()}, Immutable: &immutable,
	}
	if from != nil {
		step.Action, step.Reason = edition.Adopt, "its data are those of "+from.Name
		secret.Data = from.DeepCopy().Data
		if err := check(r, secret); err != nil {
			return nil, nil, fmt.Errorf("adopt secret %s/%s: %w", from.Namespace, from.Name, err)
		}
	} else {
		data, err := i.make(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		secret.Data = data.SecretData()
	}
	secret.Type = typeOf(secret.Data)
	secret.Labels = r.wanted.ObjectLabels()
	secret.Labels[edition.LabelGeneration] = edition.NextNumber(former)
	if certificate := certificateOf(r.config); certificate != nil && certificate.KeyOutside {
		secret.Labels[edition.LabelKeyOutside] = edition.True
	}
	lifetime(r, secret, i.clock.Now(), secret.Labels)
	return secret, step, nil
}

func (i *Instance) make(ctx context.Context, r *request) (kinds.Data, error) {
	config := r.config
	if certificate := certificateOf(config); certificate != nil && certificate.CertType == kinds.CACert {
		var err error
		config = with(config, func(c *kinds.CertificateSecretConfig) {
			// Each generation of a CA has a subject of its own.
			c.CommonName = r.object.Name
			if c.KeyOutside {
				c.OutsideKey, err = i.outsideKey(ctx, r, c.Key)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return config.Generate(i.clock.Now())
}

func (i *Instance) outsideKey(ctx context.Context, r *request, algorithm pki.KeyAlgorithm) (key crypto.Signer, err error) {
	if i.settings.keys == nil {
		return nil, fmt.Errorf("%w: WithKeys is not given", ErrNoKey)
	}
	if algorithm == "" {
		algorithm = pki.RSA3072
	}
	if key, err = i.settings.keys.Key(ctx, r.object.Namespace, r.object.Name, algorithm); err != nil {
		return nil, fmt.Errorf("get the key from outside: %w", err)
	}
	return key, nil
}

// take returns the Secret that existed before, if it matches the request.
func (i *Instance) take(ctx context.Context, r *request) (*corev1.Secret, error) {
	secret, err := i.api.Secrets(r.object.Namespace).Get(ctx, r.object.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get secret %s: %w", r.object, err)
	}
	if !i.owns(secret, r.wanted.Name) {
		return nil, fmt.Errorf("secret %s: %w", r.object, ErrForeignSecret)
	}
	if err := check(r, secret); err != nil {
		return nil, fmt.Errorf("secret %s: %w", r.object, err)
	}
	i.remember(secret)
	return i.relabel(ctx, r, secret)
}

// owns reports whether a Secret belongs to a name: by its labels, even if some are lost, or by the label that offers
// its data.
func (i *Instance) owns(secret *corev1.Secret, name string) bool {
	absentOr := func(key, value string) bool {
		has, ok := secret.Labels[key]
		return !ok || has == value
	}
	if secret.Labels[edition.LabelUseDataForName] == name {
		return absentOr(edition.LabelManagerIdentity, i.identity)
	}
	return secret.Labels[edition.LabelName] == name && absentOr(edition.LabelManagedBy, edition.ManagedBy) &&
		absentOr(edition.LabelManagerIdentity, i.identity)
}

// done remembers a Secret that was made, and notes the step.
func (i *Instance) done(secret *corev1.Secret, step *edition.Step) (*corev1.Secret, error) {
	i.remember(secret)
	i.note(step)
	return secret, nil
}

func typeOf(data map[string][]byte) corev1.SecretType {
	if data[corev1.TLSCertKey] != nil && data[corev1.TLSPrivateKeyKey] != nil {
		return corev1.SecretTypeTLS
	}
	return corev1.SecretTypeOpaque
}
