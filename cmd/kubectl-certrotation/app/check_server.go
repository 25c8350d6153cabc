// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"certrotation.dev/registry/survey"
	"certrotation.dev/registry/trust"
)

// deniedByServer returns what the guard of the cluster denies of applying the objects, each by itself. Nothing is
// changed: it is a server-side apply as a dry run.
func (p *plugin) deniedByServer(ctx context.Context, in *checkReader) ([]survey.Finding, error) {
	t, err := p.connect("")
	if err != nil {
		return nil, err
	}
	client, err := p.Dynamic(p.flags)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	keys := slices.SortedFunc(maps.Keys(in.objects.files), func(a, b checkedKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.Name, b.Name))
	})
	var out []survey.Finding
	for _, key := range keys {
		of := *t
		of.namespace, of.name = cmp.Or(key.Namespace, t.namespace), key.Name
		denial, err := of.tryApply(ctx, client, key.kind, in.objects.get(key))
		if err != nil {
			return nil, err
		}
		if denial != nil {
			place := survey.Place{File: in.objects.files[key], Object: string(key.kind) + "/" + key.Name, Namespace: of.namespace}
			out = append(out, findingsOf(denial, place)...)
		}
	}
	return out, nil
}

// get returns an object that was read.
func (c *checkedObjects) get(key checkedKey) object {
	if key.kind == trust.SecretKind {
		return c.secrets[key.NamespacedName]
	}
	if key.kind == trust.ConfigMapKind {
		return c.configMaps[key.NamespacedName]
	}
	return c.configurations[key.NamespacedName]
}

// tryApply returns the status with which a webhook denies the object, nil if it is admitted.
func (t *target) tryApply(ctx context.Context, client dynamic.Interface, kind trust.ObjectKind, o object) (*metav1.Status, error) {
	resource := resources[kind]
	applied, err := appliedOf(o, resource.GroupVersion().String(), string(kind))
	if err != nil {
		return nil, err
	}
	force := true
	_, err = client.Resource(resource).Namespace(t.namespace).Patch(ctx, t.name, types.ApplyPatchType, applied,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force, DryRun: []string{metav1.DryRunAll}})
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &status) && deniedByGuard(status.Status()):
		denial := status.Status()
		return &denial, nil
	}
	return nil, fmt.Errorf("try to apply %s/%s in namespace %s: %s", kind, t.name, t.namespace, statusText(err))
}

// deniedByGuard tells the guard's answer, which has causes, from a missing right.
func deniedByGuard(s metav1.Status) bool {
	return s.Details != nil && len(s.Details.Causes) > 0 && (s.Code == http.StatusForbidden || s.Code == http.StatusUnprocessableEntity)
}

// appliedOf encodes an object as a person applies it, without what only the API server writes.
func appliedOf(o object, version, kind string) ([]byte, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %s/%s: %w", kind, o.GetName(), err)
	}
	content := map[string]any{}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("decode %s/%s: %w", kind, o.GetName(), err)
	}
	content["apiVersion"], content["kind"] = version, kind
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, field := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
			delete(metadata, field)
		}
	}
	return json.Marshal(content)
}
