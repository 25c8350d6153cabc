// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/edition"
)

// Cleanup implements Interface. It deletes what this run has not asked for, unless a pod, a leaf that stays, or a
// RotationConfiguration needs it. While the run is incomplete, as something could not be generated, names that it has
// not asked for stay too. Plan says what was kept and why. The error names what could not be deleted, and the next
// Cleanup retries.
func (i *Instance) Cleanup(ctx context.Context) error {
	if err := i.list(ctx); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	of := i.askedFor()
	plan := of.Cleanup()
	if spaces := namespacesOf(plan.Of(edition.Delete)); len(spaces) > 0 {
		var err error
		if of.Users, err = i.users(ctx, spaces); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
		plan = of.Cleanup()
	}
	var failed []error
	for at := range plan {
		if err := i.settle(ctx, &plan[at]); err != nil {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

func (i *Instance) askedFor() *edition.Run {
	i.mu.Lock()
	defer i.mu.Unlock()
	of := &edition.Run{
		Asked: maps.Clone(i.asked), Named: map[string]bool{}, Loaded: map[string]bool{}, Incomplete: i.incomplete(), Now: i.clock.Now(),
		Configuration: i.settings.configuration,
	}
	for _, e := range i.editions {
		of.Editions = append(of.Editions, e)
	}
	for name, entry := range i.entries {
		of.Named[name], of.Loaded[name] = !entry.loaded, entry.loaded
	}
	return of
}

func keyOf(secret *corev1.Secret) types.NamespacedName {
	return types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
}

func (i *Instance) settle(ctx context.Context, step *edition.Step) error {
	if step.Action == edition.Delete && !i.settings.planOnly {
		switch err := i.remove(ctx, step.Object); {
		case err == nil:
		case apierrors.IsConflict(err):
			step.Action, step.Reason = edition.Keep, "it was changed meanwhile"
		case i.settings.configuration != "" && refusal(err) != "":
			step.Action, step.Reason = edition.Hold, "its deletion is refused for now: "+refusal(err)
		default:
			return fmt.Errorf("delete secret %s: %w", step.Object, err)
		}
	}
	if step.Action == edition.Delete {
		i.forget(step.Object)
	}
	i.note(step)
	return nil
}

// remove deletes the object that was read, and no newer one of its name.
func (i *Instance) remove(ctx context.Context, object types.NamespacedName) error {
	_, e := i.known(object)
	if e == nil {
		// Another Cleanup of this instance was faster.
		return nil
	}
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &e.UID, ResourceVersion: &e.ResourceVersion}}
	err := i.api.Secrets(object.Namespace).Delete(ctx, object.Name, only)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (i *Instance) forget(object types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.stored, object)
	delete(i.editions, object)
	delete(i.authorities, object)
}

func namespacesOf(plan edition.Plan) []string {
	var out []string
	for i := range plan {
		out = append(out, plan[i].Object.Namespace)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
