// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/trust"
)

// consent returns the annotations of what the instance keeps, nil if it consents to no configuration.
func (s *settings) consent() map[string]string {
	if s.configuration == "" {
		return nil
	}
	return map[string]string{trust.AnnotationConfiguration: s.configuration}
}

// lacksConsent reports whether a Secret must get the annotation of the configuration.
func (s *settings) lacksConsent(secret *corev1.Secret) bool {
	return s.configuration != "" && secret.Annotations[trust.AnnotationConfiguration] != s.configuration
}

// noConsent is why a Secret gets the annotation.
func (s *settings) noConsent() string { return "it does not consent to " + s.configuration }

// consent gives the consent of former editions, which nobody asks for any more but which still count.
func (i *Instance) consent(ctx context.Context, name string, former []*edition.Edition) error {
	for _, e := range former {
		secret, _ := i.known(e.NamespacedName)
		if !i.settings.lacksConsent(secret) {
			continue
		}
		step := &edition.Step{Action: edition.Change, Name: name, Object: e.NamespacedName, Reason: i.settings.noConsent()}
		if i.settings.planOnly {
			i.note(step)
			continue
		}
		if _, err := i.patch(ctx, secret, map[string]any{"annotations": i.settings.consent()}, step); err != nil {
			return err
		}
	}
	return nil
}

// patch changes the metadata of a Secret, and makes it immutable. The UID keeps the patch from a newer object of the
// same name.
func (i *Instance) patch(ctx context.Context, secret *corev1.Secret, metadata map[string]any, step *edition.Step) (*corev1.Secret, error) {
	metadata["uid"] = secret.UID
	patch, err := json.Marshal(map[string]any{"immutable": true, "metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of secret %s: %w", keyOf(secret), err)
	}
	changed, err := i.api.Secrets(secret.Namespace).Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("change the metadata of secret %s: %w", keyOf(secret), err)
	}
	return i.done(changed, step)
}

// hold returns the newest former edition in place of one that certrotation has refused for now. Other errors stay, and
// so does the refusal if there is no former edition.
func (i *Instance) hold(r *request, err error) (*corev1.Secret, error) {
	why := refusal(err)
	if i.settings.configuration == "" || why == "" {
		return nil, err
	}
	for _, e := range i.former(r.wanted.Name, &edition.Edition{NamespacedName: r.object}) {
		if e.Expired(i.clock.Now()) {
			continue
		}
		i.note(&edition.Step{Action: edition.Hold, Name: r.wanted.Name, Object: e.NamespacedName, Reason: r.object.Name + " is refused for now: " + why})
		secret, _ := i.known(e.NamespacedName)
		return secret, nil
	}
	return nil, err
}

// refusal returns why certrotation refuses a write until others have loaded something, "" for any other error.
func refusal(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	for _, cause := range status.Status().Details.Causes {
		if slices.Contains([]trust.Invariant{trust.TrustBeforeUse, trust.AnchorInUse, trust.OneRotation}, trust.Invariant(cause.Type)) {
			return cause.Message
		}
	}
	return ""
}
