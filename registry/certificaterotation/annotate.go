// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"certrotation.dev/registry/trust"
)

// maxUserName bounds what is recorded of a user's name, in characters.
const maxUserName = 256

// errMissing is the cause of the conflict that a request about a Secret which is yet to be made ends in.
var errMissing = errors.New("the Secret does not exist; it is made without being asked for")

// annotation is a request that is left on a Secret.
type annotation struct {
	target *target
	object *trust.Object
	key    string
	value  string
	dryRun []string
}

// annotate writes a request on the version of the Secret that the model has judged, and waits until the inventory has
// seen it. A dry run goes through the admission chain of the API server and writes nothing.
func (a *Actions) annotate(ctx context.Context, request annotation) error {
	name, namespace := request.object.Name, request.target.namespace
	if request.object.ResourceVersion == "" {
		return apierrors.NewConflict(resource(), name, errMissing)
	}
	patch, err := annotationPatch(request)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	written, err := a.client.CoreV1().Secrets(namespace).Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager, DryRun: request.dryRun})
	if err != nil {
		return writeError(name, err)
	}
	if len(request.dryRun) > 0 {
		return nil
	}
	a.await(ctx, namespace, func() bool { return a.secretReached(namespace, name, written.ResourceVersion) })
	return nil
}

func annotationPatch(request annotation) ([]byte, error) {
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": request.object.ResourceVersion,
		"annotations":     map[string]string{request.key: request.value},
	}}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the annotation %s: %w", request.key, err)
	}
	return data, nil
}

// writeError answers for a Secret or a record in the terms of this resource. What the API server refuses otherwise,
// such as a denial of the guard, is passed on with its own text.
func writeError(name string, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return apierrors.NewConflict(resource(), name, fmt.Errorf("it has changed in the meantime, try again: %w", err))
	}
	return err
}

// secretReached says whether the inventory knows a Secret at a version or a later one, or knows it to be gone.
func (a *Actions) secretReached(namespace, name, version string) bool {
	sources := a.inventory.Sources(namespace)
	if sources == nil || sources.Secrets[name] == nil {
		return true
	}
	return reached(sources.Secrets[name].ResourceVersion, version)
}

// reached says whether a version is that other one or a later one. Versions that cannot be compared never are later.
func reached(have, want string) bool {
	order, err := resourceversion.CompareResourceVersion(have, want)
	return err == nil && order >= 0
}

// recorded is a reason with who gave it.
func (a *Actions) recorded(ctx context.Context, reason string) string {
	requester := "requested by " + userName(ctx)
	if reason == "" {
		return requester + " at " + a.clock.Now().UTC().Format(time.RFC3339)
	}
	return reason + " (" + requester + ")"
}

func userName(ctx context.Context) string {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok || user.GetName() == "" {
		return "an unknown user"
	}
	name := user.GetName()
	if utf8.RuneCountInString(name) > maxUserName {
		return string([]rune(name)[:maxUserName])
	}
	return name
}
