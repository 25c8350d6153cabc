// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// Bounds of a recorded user, in characters.
const (
	maxUserName = 256
	maxUserUID  = 128
)

// isRace reports whether another client wrote the record at the same time.
func isRace(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// writeError converts an error about a record into an error about this resource. A refusal of registry/trust and a
// record that has changed or cannot be changed become conflicts. Other errors of the API server keep their text.
func writeError(name string, err error) error {
	if _, ok := errors.AsType[*trust.Refusal](err); ok {
		return refused(name, err)
	}
	if errors.Is(err, record.ErrUnrecordable) {
		return apierrors.NewBadRequest(err.Error())
	}
	if isRace(err) || apierrors.IsNotFound(err) {
		return apierrors.NewConflict(resource(), name, fmt.Errorf("it has changed in the meantime, try again: %w", err))
	}
	if apierrors.IsBadRequest(err) {
		// The caller is not at fault: this program made the record.
		return apierrors.NewInternalError(record.Explain(err))
	}
	return err
}

func versionOf(written *configv1alpha1.RotationRecord, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return written.ResourceVersion, nil
}

func (a *Actions) awaitRecord(ctx context.Context, namespace, name, version string) {
	a.await(ctx, namespace, func() bool {
		sources := a.inventory.Sources(namespace)
		return sources != nil && sources.Records[name] != nil && reached(sources.Records[name].ResourceVersion, version)
	})
}

// reached reports whether a version is the wanted one or a later one. Versions that cannot be compared count as not
// reached.
func reached(have, want string) bool {
	order, err := resourceversion.CompareResourceVersion(have, want)
	return err == nil && order >= 0
}

func userName(ctx context.Context) string {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok || user.GetName() == "" {
		return "an unknown user"
	}
	name := user.GetName()
	return first(name, maxUserName)
}

// userUID returns "" for users without a UID, such as those of client certificates.
func userUID(ctx context.Context) string {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return ""
	}
	return first(user.GetUID(), maxUserUID)
}

func first(text string, most int) string {
	if utf8.RuneCountInString(text) > most {
		return string([]rune(text)[:most])
	}
	return text
}
