// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// relabel sets the labels of a request on a Secret, and makes it immutable. Foreign labels stay.
func (i *Instance) relabel(ctx context.Context, r *request, secret *corev1.Secret) (*corev1.Secret, error) {
	wanted := r.wanted.ObjectLabels()
	lifetime(r, secret, i.clock.Now(), wanted)
	changes := edition.Relabel(secret.Labels, wanted)
	mutable := secret.Immutable == nil || !*secret.Immutable
	asks := i.settings.lacksConsent(secret)
	if len(changes) == 0 && !mutable && !asks {
		i.note(&edition.Step{Action: edition.Keep, Name: r.wanted.Name, Object: r.object, Reason: "it is as it should be"})
		return secret, nil
	}
	step := &edition.Step{Action: edition.Change, Name: r.wanted.Name, Object: r.object, Reason: fmt.Sprintf("%d labels differ", len(changes))}
	switch {
	case mutable:
		step.Reason = "it is not immutable"
	case len(changes) == 0:
		step.Reason = i.settings.noConsent()
	}
	if i.settings.planOnly {
		return i.done(relabeled(secret, changes), step)
	}
	metadata := map[string]any{"labels": changes}
	if asks {
		metadata["annotations"] = i.settings.consent()
	}
	return i.patch(ctx, secret, metadata, step)
}

// relabeled returns a Secret as the patch would leave it.
func relabeled(secret *corev1.Secret, changes map[string]any) *corev1.Secret {
	out := secret.DeepCopy()
	immutable := true
	out.Immutable = &immutable
	for key, value := range changes {
		if text, ok := value.(string); ok {
			metav1.SetMetaDataLabel(&out.ObjectMeta, key, text)
		} else {
			delete(out.Labels, key)
		}
	}
	return out
}

// lifetime adds the labels that say when a Secret was issued and until when it is valid. A certificate has both.
// Other Secrets count from when they were first seen, for the option Validity.
func lifetime(r *request, secret *corev1.Secret, now time.Time, labels map[string]string) {
	if certificate := certificateOf(r.config); certificate != nil && certificate.CertType != "" {
		if own := ownCertificate(r.config, secret); own != nil {
			labels[edition.LabelIssuedAtTime], labels[edition.LabelValidUntilTime] = edition.UnixText(own.NotBefore), edition.UnixText(own.NotAfter)
			return
		}
	}
	issued := edition.IssuedAt(secret.Labels, now)
	labels[edition.LabelIssuedAtTime] = edition.UnixText(issued)
	if r.options.validity > 0 && certificateOf(r.config) == nil {
		labels[edition.LabelValidUntilTime] = edition.UnixText(issued.Add(r.options.validity))
	}
}

// certificateKey is the data key of the certificate that a configuration describes.
func certificateKey(config kinds.Config) string {
	certificate := certificateOf(config)
	switch _, alone := config.(*kinds.CertificateSecretConfig); {
	case !alone:
		return kinds.ControlPlaneSecretDataKeyCertificatePEM(config.GetName())
	case certificate.CertType == kinds.CACert && certificate.SigningCA == nil:
		return kinds.DataKeyCertificateCA
	}
	return kinds.DataKeyCertificate
}
