// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// list reads the Secrets of the identity, once per instance.
func (i *Instance) list(ctx context.Context) error {
	i.listing.Lock()
	defer i.listing.Unlock()
	if i.listed {
		return nil
	}
	for _, namespace := range i.settings.namespaces {
		found, err := ownSecrets(ctx, i.api, i.identity, namespace)
		if err != nil {
			return err
		}
		for at := range found {
			i.remember(&found[at])
		}
	}
	i.listed = true
	return nil
}

// ownSecrets reads the Secrets of an identity in a namespace.
func ownSecrets(ctx context.Context, api API, identity, namespace string) ([]corev1.Secret, error) {
	selector := labels.Set{edition.LabelManagedBy: edition.ManagedBy, edition.LabelManagerIdentity: identity}.String()
	found, err := api.Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list secrets of %s in namespace %s: %w", identity, namespace, err)
	}
	return found.Items, nil
}

func (i *Instance) remember(secret *corev1.Secret) {
	e := edition.Of(secret)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stored[e.NamespacedName], i.editions[e.NamespacedName] = secret, e
	delete(i.authorities, e.NamespacedName)
}

// known returns a Secret that was read or made, nil if this identity has none.
func (i *Instance) known(key types.NamespacedName) (*corev1.Secret, *edition.Edition) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stored[key], i.editions[key]
}

func (i *Instance) byName() map[string][]*edition.Edition { return edition.ByName(i.all()) }

func (i *Instance) all() []*edition.Edition {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Values(i.editions))
}

// former returns the editions of a name before the current one, the newest first.
func (i *Instance) former(name string, current *edition.Edition) []*edition.Edition {
	var of []*edition.Edition
	for _, e := range i.all() {
		if e.Labels[edition.LabelName] == name {
			of = append(of, e)
		}
	}
	edition.Order(of)
	return edition.Former(of, current)
}

// adoptable returns the Secret that is labeled to give its data to a name, nil if there is none. It lists a namespace
// once, and only when something must be made.
func (i *Instance) adoptable(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	i.listing.Lock()
	defer i.listing.Unlock()
	i.mu.Lock()
	candidates, read := i.candidates[namespace]
	i.mu.Unlock()
	if !read {
		found, err := i.api.Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: edition.LabelUseDataForName})
		if err != nil {
			return nil, fmt.Errorf("list secrets to adopt in namespace %s: %w", namespace, err)
		}
		candidates = found.Items
		i.mu.Lock()
		i.candidates[namespace] = candidates
		i.mu.Unlock()
	}
	var out *corev1.Secret
	for at := range candidates {
		switch {
		case candidates[at].Labels[edition.LabelUseDataForName] != name:
		case out != nil:
			return nil, fmt.Errorf("%s and %s: %w", out.Name, candidates[at].Name, ErrAmbiguousAdoption)
		default:
			out = &candidates[at]
		}
	}
	return out, nil
}

func checkIdentity(identity string) error {
	if identity == "" || len(validation.IsValidLabelValue(identity)) > 0 {
		return fmt.Errorf("%w: identity %q is no value of a label", kinds.ErrInvalidConfig, identity)
	}
	return nil
}

func checkName(name string) error {
	if faults := append(validation.IsDNS1123Subdomain(name), validation.IsValidLabelValue(name)...); len(faults) > 0 {
		return fmt.Errorf("%w: name %q: %s", kinds.ErrInvalidConfig, name, faults[0])
	}
	return nil
}
