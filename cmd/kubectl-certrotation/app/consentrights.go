// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// resourceOf names the resource of a kind of object.
func resourceOf(kind trust.ObjectKind) string {
	if kind == trust.SecretKind {
		return "secrets"
	}
	return "configmaps"
}

// allowed asks whether the caller may do something. An empty name asks about every object.
func (t *target) allowed(ctx context.Context, namespace, verb, resource, name string) (bool, error) {
	answer, err := t.core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Resource: resource, Name: name,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether you may %s %s %s: %w", verb, resource, name, err)
	}
	return answer.Status.Allowed, nil
}

// lacking are the rights to an object that the caller does not have, for a person; empty if nothing is lacking. Whoever has
// them in the whole namespace is not asked for each object.
func (t *target) lacking(ctx context.Context, parts []part) ([]string, error) {
	everywhere := map[string]bool{}
	var out []string
	for _, p := range parts {
		for _, verb := range []string{"get", "patch"} {
			resource := resourceOf(p.kind)
			right := verb + " " + resource
			if _, asked := everywhere[right]; !asked {
				may, err := t.allowed(ctx, t.namespace, verb, resource, "")
				if err != nil {
					return nil, err
				}
				everywhere[right] = may
			}
			if everywhere[right] {
				continue
			}
			may, err := t.allowed(ctx, t.namespace, verb, resource, p.name)
			if err != nil {
				return nil, err
			}
			if !may {
				out = append(out, right+" "+p.name)
			}
		}
	}
	return out, nil
}

// requireRights refuses as a whole: an adoption that stops in the middle would leave a configuration that half works.
func (t *target) requireRights(ctx context.Context, parts []part) error {
	lacking, err := t.lacking(ctx, parts)
	if err != nil {
		return err
	}
	if len(lacking) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: you may not do the following in namespace %s\n  %s\nConsent is given by those who may write the object itself",
		t.namespace, strings.Join(lacking, "\n  "))
}
