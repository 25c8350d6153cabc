// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// completionTimeout bounds how long a shell waits after the Tab key.
const completionTimeout = 3 * time.Second

// completes offers the words that list returns, and nothing if it fails: there is no place for an error.
func (p *plugin) completes(list func(ctx context.Context, t *target, args []string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		t, err := p.connectCore("")
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		words, err := list(ctx, t, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for i := range words {
			words[i] = oneLine(words[i])
		}
		slices.Sort(words)
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
	}
}

// completesFirst completes the first argument alone.
func (p *plugin) completesFirst(list func(ctx context.Context, t *target) ([]string, error)) cobra.CompletionFunc {
	return p.completes(func(ctx context.Context, t *target, args []string) ([]string, error) {
		if len(args) > 0 {
			return nil, nil
		}
		return list(ctx, t)
	})
}

func (p *plugin) completesCertificates() cobra.CompletionFunc {
	return p.completesFirst(func(ctx context.Context, t *target) ([]string, error) {
		return t.rotationNames(ctx, v1alpha1.RoleSigner, v1alpha1.RoleLeaf)
	})
}

func (p *plugin) completesSigners() cobra.CompletionFunc {
	return p.completesFirst(func(ctx context.Context, t *target) ([]string, error) {
		return t.rotationNames(ctx, v1alpha1.RoleSigner)
	})
}

func (p *plugin) completesConfigurations() cobra.CompletionFunc {
	return p.completesFirst(func(ctx context.Context, t *target) ([]string, error) {
		list, err := t.client.ConfigV1alpha1().RotationConfigurations(t.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		names := make([]string, 0, len(list.Items))
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, nil
	})
}

func (p *plugin) completesNamespaces() cobra.CompletionFunc {
	return p.completes(func(ctx context.Context, t *target, _ []string) ([]string, error) {
		list, err := t.core.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		names := make([]string, 0, len(list.Items))
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, nil
	})
}

func (t *target) rotationNames(ctx context.Context, roles ...v1alpha1.Role) ([]string, error) {
	list, err := t.rotations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		if slices.Contains(roles, list.Items[i].Spec.Role) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}

// memberNames returns what name says of each member of the signer that args name, but "".
func (t *target) memberNames(ctx context.Context, args []string, name func(*v1alpha1.MemberStatus) string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	signer, err := t.rotations().Get(ctx, args[0], metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range signer.Status.Members {
		if one := name(&signer.Status.Members[i]); one != "" {
			names = append(names, one)
		}
	}
	return names, nil
}
