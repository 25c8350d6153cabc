// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/view/inventory"
)

// Adopt does what will happen when the manifests have been created in a real API: it lets the controller work on them, and
// fails if that changes anything of them, or if revision 1 is not what its status says. Nodes are those of the input.
func Adopt(ctx context.Context, in *Input, manifests map[string][]byte, now time.Time) error {
	again := &Input{}
	for _, node := range of[*corev1.Node](in) {
		again.known = append(again.known, node)
	}
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		if err := again.read(manifests[name]); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	if err := again.validate(); err != nil {
		return err
	}
	api, err := NewAPI(now, again.known...)
	if err != nil {
		return err
	}
	for _, name := range again.namespaces() {
		namespace := api.Namespace(name)
		if namespace == nil {
			continue
		}
		if err := Settle(ctx, api, name); err != nil {
			return err
		}
		for _, rollout := range namespace.Rollouts {
			if err := sameRevision(api, name, rollout); err != nil {
				return fmt.Errorf("namespace %s: rollout %s: %w", name, rollout.Config.Name, err)
			}
		}
	}
	if writes := api.Changes(); len(writes) > 0 {
		return fmt.Errorf("the controller would change what was rendered: %s", strings.Join(writes, ", "))
	}
	return nil
}

// sameRevision compares the sources as they are, and their copies, with the status.
func sameRevision(api *API, namespace string, rollout *inventory.Rollout) error {
	status, err := get[*corev1.ConfigMap](api, namespace, revision.StatusName(first))
	if err != nil {
		return err
	}
	for _, named := range []func(string) string{asNamed, ofFirst} {
		content, err := contentOf(api, namespace, rollout, named)
		if err != nil {
			return err
		}
		if content.ContentHash() != status.Data[revision.StatusKeyContentHash] || content.RestartHash() != status.Data[revision.StatusKeyRestartHash] {
			return errors.New("revision 1 is not the content of its sources")
		}
	}
	return nil
}
