// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// snapshot is the content of the sources, and their resource versions by kind and name.
type snapshot struct {
	content  nodepod.Content
	versions map[string]string
}

// observeSource reads the content of the next revision from the API server.
func (l *look) observeSource(ctx context.Context) error {
	src := &l.state.Source
	s, problem, err := l.readSources(ctx)
	if err != nil {
		return err
	}
	if problem == "" {
		problem = l.unusable(s)
	}
	if problem != "" {
		src.Problem = problem
		return nil
	}
	l.content = &s.content
	src.ContentHash, src.RestartHash = s.content.ContentHash(), s.content.RestartHash()
	latest := l.latest()
	differs := latest == nil || latest.ContentHash != src.ContentHash
	l.remember(src, differs)
	if !differs {
		return nil
	}
	src.Changed = changed(latest, l.content)
	src.Waiting, err = l.unsettled(ctx, s)
	return err
}

// remember tracks since when the sources are unchanged, and since when they differ from the latest revision.
func (l *look) remember(src *rollout.Source, differs bool) {
	l.memory.with(l.id(), func(r *remembered) {
		if r.hash != src.ContentHash {
			r.hash, r.since = src.ContentHash, l.now
		}
		switch {
		case !differs:
			r.differs = time.Time{}
		case r.differs.IsZero():
			r.differs = l.now
		}
		src.Since, src.Differs = r.since, r.differs
	})
}

func (l *look) readSources(ctx context.Context) (s *snapshot, problem string, err error) {
	return l.readObjects(ctx, func(name string) string { return name })
}

// readObjects reads the sources, or, if named maps to their names, the copies of a revision.
func (l *look) readObjects(ctx context.Context, named func(string) string) (s *snapshot, problem string, err error) {
	cfg := l.rollout.Config
	s = &snapshot{
		content: nodepod.Content{
			ConfigMaps: map[string]map[string][]byte{}, Secrets: map[string]map[string][]byte{},
			Reloaded: sets.New(cfg.ReloadedSecretNames...),
		},
		versions: map[string]string{},
	}
	for _, name := range l.configMapNames() {
		cm, err := l.client.CoreV1().ConfigMaps(l.namespace).Get(ctx, named(name), metav1.GetOptions{})
		if problem, err := absent("configmap", named(name), err); problem != "" || err != nil {
			return nil, problem, err
		}
		if !trust.Consents(cm.Annotations, l.rollout.Configuration) {
			return nil, l.unadopted("configmap", named(name)), nil
		}
		s.versions["configmap/"+name] = cm.ResourceVersion
		s.content.ConfigMaps[name] = dataOf(cm)
	}
	for _, name := range cfg.SecretNames {
		secret, err := l.client.CoreV1().Secrets(l.namespace).Get(ctx, named(name), metav1.GetOptions{})
		if problem, err := absent("secret", named(name), err); problem != "" || err != nil {
			return nil, problem, err
		}
		if problem := l.unfitSecret(secret); problem != "" && named(name) == name {
			return nil, problem, nil
		}
		if !trust.Consents(secret.Annotations, l.rollout.Configuration) {
			return nil, l.unadopted("secret", named(name)), nil
		}
		s.versions["secret/"+name] = secret.ResourceVersion
		s.content.Secrets[name] = secret.Data
	}
	if missing := s.content.TakeTemplates(cfg.PodConfigMapName, configv1alpha1.PodKey, cfg.Companions); len(missing) > 0 {
		return nil, fmt.Sprintf("configmap/%s has no key %s", named(cfg.PodConfigMapName), strings.Join(missing, ", ")), nil
	}
	return s, "", nil
}

// unadopted returns why an object reaches no node: the configuration names it, but it does not consent to that.
func (l *look) unadopted(kind, name string) string {
	return fmt.Sprintf("%s/%s does not consent to RotationConfiguration/%s, so it is not brought to any node: run `kubectl certrotation adopt -n %s %s`",
		kind, name, l.rollout.Configuration, l.namespace, l.rollout.Configuration)
}

// absent separates an object that does not exist from an error.
func absent(kind, name string, err error) (problem string, failure error) {
	switch {
	case err == nil:
		return "", nil
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("required %s/%s does not exist", kind, name), nil
	}
	return "", fmt.Errorf("read %s %s: %w", kind, name, err)
}

// dataOf merges data and binaryData; no key can be in both.
func dataOf(cm *corev1.ConfigMap) map[string][]byte {
	out := make(map[string][]byte, len(cm.Data)+len(cm.BinaryData))
	for key, value := range cm.Data {
		out[key] = []byte(value)
	}
	maps.Copy(out, cm.BinaryData)
	return out
}

// unsettled returns why the sources must not become a revision yet, "" if they may. The aggregate must hold what its
// sources hold, this pass must see the same aggregate as the inventory, and nothing may change during the read. Then
// trust and leaves are of one moment.
func (l *look) unsettled(ctx context.Context, s *snapshot) (string, error) {
	if waiting := l.aggregateBehind(s); waiting != "" {
		return waiting, nil
	}
	again, problem, err := l.readSources(ctx)
	if err != nil || problem != "" {
		return problem, err
	}
	for name, version := range s.versions {
		if again.versions[name] != version {
			return name + " has changed while it was read", nil
		}
	}
	return "", nil
}

func (l *look) aggregateBehind(s *snapshot) string {
	agg := l.rollout.Aggregate
	if agg == nil {
		return ""
	}
	for name, known := range map[string]string{
		"configmap/" + agg.ConfigMap.Name: agg.ConfigMap.ResourceVersion,
		"secret/" + agg.Secret.Name:       agg.Secret.ResourceVersion,
	} {
		if version, ok := s.versions[name]; ok && version != known {
			return name + " has changed and is not in the cache yet"
		}
	}
	leaves, bundles := map[string]*trust.Leaf{}, map[string]*trust.Bundle{}
	for _, d := range l.known.Domains {
		bundles[d.Bundle.Name] = &d.Bundle
		for i := range d.Leaves {
			leaves[d.Leaves[i].Name] = &d.Leaves[i]
		}
	}
	actions, blockers := trust.AssessAggregate(agg, leaves, bundles)
	switch {
	case len(blockers) > 0:
		return blockers[0].Object + ": " + blockers[0].Message
	case len(actions) > 0:
		return fmt.Sprintf("%s is about to be written: %s", actions[0].Object, actions[0].Reason)
	}
	return ""
}
