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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/revision"
)

// Adopt does what will happen when the manifests have been created in a real API: it lets the controller work on them, and
// fails if that changes anything of them, or if revision 1 is not what its status says. Nodes are those of the input.
func Adopt(ctx context.Context, in *Input, manifests map[string][]byte, now time.Time) error {
	again := &Input{Nodes: in.Nodes}
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		if err := again.read(manifests[name]); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	if err := again.validate(); err != nil {
		return err
	}
	api, err := NewAPI(now, again.objects()...)
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
			if err := sameRevision(ctx, api, name, &Revision{Rollout: rollout}); err != nil {
				return fmt.Errorf("namespace %s: rollout %s: %w", name, rollout.Config.Name, err)
			}
		}
	}
	if writes := api.Changes(); len(writes) > 0 {
		return fmt.Errorf("the controller would change what was rendered: %s", strings.Join(writes, ", "))
	}
	return nil
}

// sameRevision compares the sources as they are, and the status, with the copies.
func sameRevision(ctx context.Context, api *API, namespace string, r *Revision) error {
	live, err := readSources(ctx, api, namespace, r.Rollout.Configuration, r.Rollout.Config)
	if err != nil {
		return err
	}
	r.Content = live.content(r.Rollout.Config)
	numbered := *r.Rollout.Config
	numbered.PodConfigMapName = revision.CopyName(numbered.PodConfigMapName, first)
	numbered.ConfigMapNames, numbered.SecretNames = copyNames(numbered.ConfigMapNames), copyNames(numbered.SecretNames)
	frozen, err := readSources(ctx, api, namespace, r.Rollout.Configuration, &numbered)
	if err != nil {
		return err
	}
	content := frozen.content(r.Rollout.Config)
	content.ConfigMaps, content.Secrets = withoutNumber(content.ConfigMaps), withoutNumber(content.Secrets)
	status, err := api.client.CoreV1().ConfigMaps(namespace).Get(ctx, revision.StatusName(first), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", revision.StatusName(first), err)
	}
	said, _ := revision.ReadStatus(status)
	for _, c := range []revision.Content{r.Content, content} {
		if c.ContentHash() != said.ContentHash || c.RestartHash() != said.RestartHash {
			return errors.New("revision 1 is not the content of its sources")
		}
	}
	return nil
}

func copyNames(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, revision.CopyName(name, first))
	}
	return out
}

func withoutNumber(objects map[string]map[string][]byte) map[string]map[string][]byte {
	out := map[string]map[string][]byte{}
	for name, values := range objects {
		out[strings.TrimSuffix(name, revision.CopyName("", first))] = values
	}
	return out
}
