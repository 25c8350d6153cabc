// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// makeRevision creates a revision from the content of this pass: its ConfigMap, then the copies, then it is marked
// complete. Each step is skipped if done, so after an interruption the next pass continues, or restarts the same
// number if the sources have changed.
func (l *look) makeRevision(ctx context.Context, action *rollout.Action) error {
	if l.content == nil {
		return apply.ErrStale
	}
	l.memory.with(l.id(), func(r *remembered) { r.copies, r.keys = 0, nil })
	status, err := l.beginRevision(ctx, action)
	if err != nil {
		return err
	}
	if err := l.copyConfigMaps(ctx, status, action.Revision); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.content.Secrets)) {
		if err := l.copySecret(ctx, status, l.copyMeta(status, name, action.Revision), l.content.Secrets[name]); err != nil {
			return err
		}
	}
	return l.completeRevision(ctx, status)
}

func (l *look) beginRevision(ctx context.Context, action *rollout.Action) (*corev1.ConfigMap, error) {
	wanted := nodepod.Status{
		Number: action.Revision, Rollout: l.name, Reason: action.Reason,
		ContentHash: l.content.ContentHash(), RestartHash: l.content.RestartHash(),
	}
	name := nodepod.StatusName(action.Revision)
	status, _, err := l.configMaps().Write(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: l.namespace, Name: name, Annotations: map[string]string{trust.AnnotationConfiguration: l.rollout.Configuration},
	}}, apply.Any, func(status *corev1.ConfigMap, exists bool) error {
		begun, ok := nodepod.ReadStatus(status)
		same := begun.ContentHash == wanted.ContentHash && begun.RestartHash == wanted.RestartHash
		switch {
		case !exists:
			l.emit(false, rollout.EventStartingNewRevision, name, fmt.Sprintf("new revision %d: %s", action.Revision, action.Reason))
		case ok && begun.Rollout != l.name:
			return fmt.Errorf("configmap %s is not of this rollout: there can be one rollout in a namespace; remove it if nothing needs it", name)
		case !ok, begun.Ready && !same:
			return apply.ErrStale
		case same:
			return nil
		}
		wanted.Put(status)
		return nil
	})
	return status, err
}

func (l *look) completeRevision(ctx context.Context, status *corev1.ConfigMap) error {
	made, ok := nodepod.ReadStatus(status)
	if !ok {
		return apply.ErrStale
	}
	if made.Ready {
		return nil
	}
	status, made.Ready = status.DeepCopy(), true
	made.Put(status)
	if _, err := l.configMaps().Update(ctx, status); err != nil {
		return err
	}
	l.emit(false, rollout.EventRevisionTriggered, status.Name, fmt.Sprintf("new revision %d triggered by %q", made.Number, made.Reason))
	return nil
}

// copyMeta is the metadata of a copy. The copy is deleted together with the ConfigMap of its revision.
func (l *look) copyMeta(status *corev1.ConfigMap, name string, number int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: l.namespace, Name: nodepod.CopyName(name, number),
		Annotations:     map[string]string{trust.AnnotationConfiguration: l.rollout.Configuration},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: status.Name, UID: status.UID}},
	}
}

var errForeign = errors.New("it exists and is not a copy of this revision: rename it or remove it")

// outdated reports whether a copy must be replaced. Any other object is never touched.
func (l *look) outdated(live metav1.Object, status *corev1.ConfigMap, immutable *bool, same bool) (bool, error) {
	if !l.isCopy(live, status.Name) {
		return false, errForeign
	}
	for _, owner := range live.GetOwnerReferences() {
		// The garbage collector will delete a copy whose owner ConfigMap is gone.
		same = same && owner.UID == status.UID
	}
	return !same || !ptr.Deref(immutable, false), nil
}

// isCopy reports whether an object belongs to a revision: by its owner, or, if it has none, by the label of the
// rollout. `certrotation render` creates copies without an owner.
func (l *look) isCopy(live metav1.Object, status string) bool {
	for _, owner := range live.GetOwnerReferences() {
		if owner.Kind == "ConfigMap" && owner.Name == status {
			return true
		}
	}
	return len(live.GetOwnerReferences()) == 0 && live.GetLabels()[nodepod.LabelRollout] == l.name
}

func (l *look) copyConfigMaps(ctx context.Context, status *corev1.ConfigMap, number int) error {
	pod := l.rollout.Config.PodConfigMapName
	all := maps.Clone(l.content.ConfigMaps)
	all[pod] = l.content.Templates(configv1alpha1.PodKey)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		err := l.configMaps().Replace(ctx, configMapOf(l.copyMeta(status, name, number), all[name]), func(live *corev1.ConfigMap) (bool, error) {
			return l.outdated(live, status, live.Immutable, sameData(dataOf(live), all[name]))
		})
		if err != nil {
			return fmt.Errorf("copy configmap %s: %w", name, err)
		}
	}
	return nil
}

// configMapOf puts text into data unchanged, and everything else into binaryData.
func configMapOf(meta metav1.ObjectMeta, data map[string][]byte) *corev1.ConfigMap {
	out := &corev1.ConfigMap{ObjectMeta: meta, Immutable: new(true), Data: map[string]string{}}
	for key, value := range data {
		if utf8.Valid(value) {
			out.Data[key] = string(value)
			continue
		}
		if out.BinaryData == nil {
			out.BinaryData = map[string][]byte{}
		}
		out.BinaryData[key] = value
	}
	return out
}

func (l *look) copySecret(ctx context.Context, status *corev1.ConfigMap, meta metav1.ObjectMeta, data map[string][]byte) error {
	wanted := &corev1.Secret{ObjectMeta: meta, Immutable: new(true), Type: corev1.SecretTypeOpaque, Data: data}
	err := l.secrets().Replace(ctx, wanted, func(live *corev1.Secret) (bool, error) {
		return l.outdated(live, status, live.Immutable, sameData(live.Data, data))
	})
	if err != nil {
		return fmt.Errorf("copy secret %s: %w", meta.Name, err)
	}
	return nil
}

func sameData(x, y map[string][]byte) bool { return maps.EqualFunc(x, y, bytes.Equal) }
